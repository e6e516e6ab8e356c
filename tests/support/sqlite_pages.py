"""
Which pages of a SQLite file a row needs: a walk over its b-trees, by the file format's description and nothing else.

Tests that damage a page use it to know what must come out all the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

__all__ = ["Needs", "index_pages", "page_size", "rows", "shrink_pages"]


class Needs(NamedTuple):
    """The pages without which a row can't be read whole, the file's first being 1: the way to it from the root, and the rest."""

    path: tuple[int, ...]
    overflow: tuple[int, ...]

    @property
    def pages(self) -> frozenset[int]:
        """All of them."""
        return frozenset((*self.path, *self.overflow))

    @property
    def leaf(self) -> int:
        """The page that the row begins on."""
        return self.path[-1]


def page_size(data: bytes) -> int:
    """Return the size of a page in bytes."""
    size = int.from_bytes(data[16:18], "big")
    return 65536 if size == 1 else size


def rows(path: Path, table: str) -> dict[int, Needs]:
    """Return what each row of a table needs, by rowid."""
    data = path.read_bytes()
    return dict(_table(data, _root(path, table), ()))


def index_pages(path: Path, table: str, *, overflow: bool = False) -> set[int]:
    """Return the pages of the b-trees of all indexes of a table; or the pages that hold the rest of keys too long for one."""
    data = path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        roots = db.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", (table,)).fetchall()
    return {page for (root,) in roots for page, is_overflow in _index(data, root) if is_overflow is overflow}


def shrink_pages(path: Path, size: int) -> None:
    """Rewrite a database with smaller pages, so that a small one has many."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(f"PRAGMA page_size = {size}")
        db.execute("VACUUM")


def _root(path: Path, table: str) -> int:
    if table == "sqlite_schema":
        return 1
    with closing(sqlite3.connect(path)) as db:
        found: int = db.execute("SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0]
    return found


def _table(data: bytes, page: int, above: tuple[int, ...]) -> Iterator[tuple[int, Needs]]:
    size = page_size(data)
    usable, base, path = size - data[20], (page - 1) * size, (*above, page)
    kind, cells = _cells(data, page)
    for at in cells:
        if kind == 5:
            yield from _table(data, int.from_bytes(data[base + at : base + at + 4], "big"), path)
            continue
        payload, at = _varint(data, base + at)
        rowid, at = _varint(data, at)
        rest = tuple(_overflow(data, at, payload, usable, most=usable - 35))
        yield rowid - (1 << 64 if rowid >= 1 << 63 else 0), Needs(path, rest)
    if kind == 5:
        start = base + (100 if page == 1 else 0) + 8
        yield from _table(data, int.from_bytes(data[start : start + 4], "big"), path)


def _index(data: bytes, page: int) -> Iterator[tuple[int, bool]]:
    """Yield the pages of an index, each with whether it is an overflow page."""
    size = page_size(data)
    usable, base = size - data[20], (page - 1) * size
    kind, cells = _cells(data, page)
    yield page, False
    for cell in cells:
        payload, at = _varint(data, base + cell + (4 if kind == 2 else 0))
        for other in _overflow(data, at, payload, usable, most=(usable - 12) * 64 // 255 - 23):
            yield other, True
    if kind == 2:
        for at in [*(base + cell for cell in cells), base + 8]:
            yield from _index(data, int.from_bytes(data[at : at + 4], "big"))


def _cells(data: bytes, page: int) -> tuple[int, list[int]]:
    """Return the page's kind and where its cells begin, from the page's begin on."""
    base = (page - 1) * page_size(data)
    head = base + (100 if page == 1 else 0)
    kind, count = data[head], int.from_bytes(data[head + 3 : head + 5], "big")
    first = head + (12 if kind in (2, 5) else 8)
    return kind, [int.from_bytes(data[first + 2 * i : first + 2 * i + 2], "big") for i in range(count)]


def _overflow(data: bytes, at: int, payload: int, usable: int, *, most: int) -> Iterator[int]:
    """Yield the overflow pages of a cell whose local part begins at a place in the file and has `most` bytes at the most."""
    least = (usable - 12) * 32 // 255 - 23
    if payload <= most:
        return
    local = least + (payload - least) % (usable - 4)
    if local > most:
        local = least
    page = int.from_bytes(data[at + local : at + local + 4], "big")
    while page:
        yield page
        start = (page - 1) * page_size(data)
        page = int.from_bytes(data[start : start + 4], "big")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(9):
        byte = data[at + i]
        if i == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    raise AssertionError("unreachable")

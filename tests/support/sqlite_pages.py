"""
Which pages of a SQLite file a row needs: a walk over its b-trees, by the file format's description and nothing else.

Tests that damage a page use it to know what must come out all the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

__all__ = ["index_pages", "page_size", "rows", "shrink_pages"]


def page_size(data: bytes) -> int:
    """Return the size of a page in bytes."""
    size = int.from_bytes(data[16:18], "big")
    return 65536 if size == 1 else size


def rows(path: Path, table: str) -> dict[int, frozenset[int]]:
    """Return, for each rowid of a table, the pages without which it can't be reached or read whole, the first being 1."""
    data = path.read_bytes()
    return {rowid: frozenset(pages) for rowid, pages in _table(data, _root(path, table), ())}


def index_pages(path: Path, table: str) -> set[int]:
    """Return the pages of the b-trees of all indexes of a table, without overflow pages."""
    data = path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        roots = db.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = ?", (table,)).fetchall()
    return {page for (root,) in roots for page in _index(data, root)}


def shrink_pages(path: Path, size: int) -> None:
    """Rewrite a database with smaller pages, so that a small one has many."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(f"PRAGMA page_size = {size}")
        db.execute("VACUUM")


def _root(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        found: int = db.execute("SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()[0]
    return found


def _table(data: bytes, page: int, above: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    size = page_size(data)
    usable, base, path = size - data[20], (page - 1) * size, (*above, page)
    kind, cells = _cells(data, page)
    for at in cells:
        if kind == 5:
            yield from _table(data, int.from_bytes(data[base + at : base + at + 4], "big"), path)
            continue
        payload, at = _varint(data, base + at)
        rowid, at = _varint(data, at)
        yield rowid - (1 << 64 if rowid >= 1 << 63 else 0), (*path, *_overflow(data, at, payload, usable))
    if kind == 5:
        start = base + (100 if page == 1 else 0) + 8
        yield from _table(data, int.from_bytes(data[start : start + 4], "big"), path)


def _index(data: bytes, page: int) -> Iterator[int]:
    base = (page - 1) * page_size(data)
    kind, cells = _cells(data, page)
    yield page
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


def _overflow(data: bytes, at: int, payload: int, usable: int) -> Iterator[int]:
    """Yield the overflow pages of a row whose local part begins at a place in the file."""
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
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

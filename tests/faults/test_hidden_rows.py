"""A damaged page can hide rows without an error: what an index lists and the table does not give is lost, and told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlite_pages import index_pages, page_size

from satchel import library
from satchel.events import Problem


def _empty_a_leaf(path: Path) -> int:
    """Set the number of cells of one leaf of `messages` to zero, a page that is valid in itself; return how many there were."""
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages' AND type = 'table'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    data = bytearray(path.read_bytes())
    at = (root - 1) * size
    assert 0x05 == data[at], "the table has more than one page"
    first = int.from_bytes(data[at + 12 : at + 14], "big")
    leaf = (int.from_bytes(data[at + first : at + first + 4], "big") - 1) * size
    assert 0x0D == data[leaf]
    cells = int.from_bytes(data[leaf + 3 : leaf + 5], "big")
    data[leaf + 3 : leaf + 5] = bytes(2)
    path.write_bytes(data)
    return cells


def test_rows_that_only_an_index_knows_are_told_as_lost(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db(schema=22, case="big", fts=False)
    whole = library.convert(store, tmp_path / "whole.jsonl")
    hidden = _empty_a_leaf(store)
    told: list[Problem] = []

    outcome = library.convert(store, tmp_path / "out.jsonl", listen=lambda e: told.append(e) if isinstance(e, Problem) else None)

    assert hidden > 0
    assert (0, 3) == (whole.exit_code, outcome.exit_code)
    assert whole.messages == outcome.messages + hidden
    assert hidden == sum(problem.lost for problem in told)


def test_rows_that_an_index_does_not_list_are_read_from_the_table(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db(schema=22, case="big", fts=False)
    whole = library.convert(store, tmp_path / "whole.jsonl")
    data = store.read_bytes()
    size = page_size(data)
    changed = bytearray(data)
    emptied = 0
    for page in index_pages(store, "messages") | index_pages(store, "sessions"):
        at = (page - 1) * size
        if data[at] == 0x0A:
            emptied += int.from_bytes(data[at + 3 : at + 5], "big")
            changed[at + 3 : at + 5] = bytes(2)
    store.write_bytes(changed)
    outcome = library.convert(store, tmp_path / "out.jsonl")
    assert emptied > 0
    assert (whole.sessions, whole.messages) == (outcome.sessions, outcome.messages)
    lines = [(tmp_path / name).read_bytes().splitlines() for name in ("whole.jsonl", "out.jsonl")]
    ids = [sorted(json.loads(line)["id"] for line in found) for found in lines]
    assert ids[0] == ids[1]

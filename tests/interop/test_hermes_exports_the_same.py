"""
Our JSONL has all that Hermes' own export has: every key of a session and of its messages, with the same value.

Hermes brings an older store up to date before it reads it, and what that adds is no difference. Any other is named here with its
reason.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hermes_odd import TOOL_CALLS
from peers import run

import satchel

# Writes each session as Hermes exports it; bytes, which JSON can't say, as an object.
EXPORT = """
import base64, json, sys
from pathlib import Path
from hermes_state import SessionDB

def plain(value):
    assert isinstance(value, bytes), value
    return {"bytes": base64.b64encode(value).decode()}

db = SessionDB(Path(sys.argv[1]))
with open(sys.argv[3], "w", encoding="ascii") as out:
    for session in json.loads(Path(sys.argv[2]).read_text("utf-8")):
        try:
            record = db.export_session(session)
        except Exception as error:
            record = f"{type(error).__name__}: {error}"
        print(json.dumps([session, record], default=plain), file=out)
db.close()
print(json.dumps(None))
"""

Cell = tuple[str, int | None, str]
"""A session, the number of a message in its list (None for the session's own keys), a key."""


class Compared:
    """What differs between the two exports of a store, theirs second."""

    def __init__(self) -> None:
        self.sessions = 0
        self.messages = 0
        self.absent: set[str] = set()
        self.differ: dict[Cell, tuple[Any, Any]] = {}
        self.counts: dict[str, tuple[int, int]] = {}
        self.failed: dict[str, str] = {}

    def cells(self, *, but: Collection[str] = ()) -> set[Cell]:
        """Return where values differ, but for some keys."""
        return {cell for cell in self.differ if cell[2] not in but}


def _compare(python: Path, store: Path, folder: Path) -> Compared:
    """Export a store with ours, and a copy of it with theirs."""
    exported, copy, ids, theirs = (folder / name for name in ("ours.jsonl", "copy.db", "ids.json", "theirs.jsonl"))
    assert 0 == satchel.convert(store, exported).lost
    with exported.open(encoding="utf-8", newline="\n") as file:
        ours: dict[str, dict[str, Any]] = {record["id"]: record for record in map(json.loads, file)}
    shutil.copy(store, copy)
    ids.write_text(json.dumps(list(ours)), "ascii")
    run(python, EXPORT, copy, ids, theirs, home=folder / "home")
    out = Compared()
    for line in theirs.read_text("ascii").splitlines():
        session, record = json.loads(line)
        if not isinstance(record, dict):
            out.failed[session] = record or "no such session"
            continue
        mine = ours[session]
        out.sessions += 1
        out.messages += len(mine["messages"])
        _compare_keys(out, (session, None), mine, record)
        if len(mine["messages"]) != len(record["messages"]):
            out.counts[session] = (len(mine["messages"]), len(record["messages"]))
            continue
        for number, (message, their) in enumerate(zip(mine["messages"], record["messages"], strict=True)):
            _compare_keys(out, (session, number), message, their)
    return out


def _compare_keys(out: Compared, at: tuple[str, int | None], ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    for key, value in theirs.items():
        if key == "messages" and at[1] is None:
            continue
        if key not in ours:
            out.absent.add(key)
        elif (value, type(value)) != (ours[key], type(ours[key])):
            out.differ[(*at, key)] = (ours[key], value)


# Hermes marks subagents' runs of old stores when it brings them up to date.
MARKED: set[Cell] = {
    ("20260305_071500_7e1e63a1", None, "model_config"),
    ("cron_tide-digest_20260305_060000", None, "model_config"),
}


@pytest.mark.parametrize(("schema", "marked"), [(5, MARKED), (14, MARKED), (22, set()), (23, set())])
def test_the_story(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int, marked: set[Cell]) -> None:
    store = hermes_db(schema)
    out = _compare(hermes_python, store, tmp_path)
    assert (marked, {}, {}) == (out.cells(), out.counts, out.failed)
    assert (14, 63) == (out.sessions, out.messages)
    # What 0.19 adds to the tables that older versions made.
    assert (schema < 22, set()) == (out.absent != set(), out.absent & _columns(store))


def _columns(store: Path) -> set[str]:
    with closing(sqlite3.connect(store)) as db:
        return {row[1] for table in ("sessions", "messages") for row in db.execute(f"PRAGMA table_info({table})")}


def test_the_story_at_a_schema_that_hermes_does_not_know_yet(
    hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path
) -> None:
    """0.19 does not find the prompts that newer versions keep in a table of their own, nor does it show BLOBs."""
    out = _compare(hermes_python, hermes_db(30), tmp_path)
    assert {"system_prompt", "display_identity"} == {key for _, _, key in out.differ}
    assert {None} == {theirs for (_, _, key), (_, theirs) in out.differ.items() if key == "system_prompt"}
    assert (set(), {}, {}, 63) == (out.absent, out.counts, out.failed, out.messages)


@pytest.mark.parametrize("schema", [22, 23])
def test_the_lineages(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    out = _compare(hermes_python, hermes_db(schema, "lineage"), tmp_path)
    assert (set(), {}, {}, {}, 47) == (out.absent, out.differ, out.counts, out.failed, out.sessions)


def test_the_oddities(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    out = _compare(hermes_python, hermes_db(case="odd"), tmp_path)
    calls = list(TOOL_CALLS)
    differ: dict[Cell, str] = {
        (
            "odd-calls",
            1 + calls.index("empty text"),
            "tool_calls",
        ): "theirs: the empty text; ours: none, as for any that is no JSON",
        ("odd-calls", 1 + calls.index("big number"), "tool_calls"): "ours: a float, which every reader takes",
        (
            "odd-calls",
            1 + calls.index("surrogate"),
            "tool_calls",
        ): "ours: U+FFFD for half a pair, which no file in UTF-8 can hold",
        ("odd-calls", 1 + calls.index("deep"), "tool_calls"): "ours: none, for most readers refuse such nesting",
        ("odd-calls", 1 + calls.index("blob"), "tool_calls"): "ours: none",
        ("odd-time-blob", None, "started_at"): "ours: text, for JSON has no bytes",
        ("odd-time-blob", None, "ended_at"): "ours: text",
        ("odd-title-blob", None, "title"): "ours: text",
        ("odd-config-blob", None, "model_config"): "ours: text",
        ("odd-stranger", 0, "weather"): "ours: text",
        ("odd-time-inf", None, "started_at"): "ours: null, for JSON has no infinity",
        ("odd-time-inf", None, "ended_at"): "ours: null",
        ("odd-time-minus-inf", None, "started_at"): "ours: null",
        ("odd-time-minus-inf", None, "ended_at"): "ours: null",
        ("odd-time-rows", 3, "timestamp"): "ours: null",
        ("odd-count-huge", None, "estimated_cost_usd"): "ours: null",
    }
    # On opening, Hermes sets a NULL `active` to 1.
    assert set(differ) == out.cells(but={"active"})
    assert {(None, 1)} == {pair for (_, _, key), pair in out.differ.items() if key == "active"}
    assert set() == out.absent
    # `active` 2 or 'yes' is live to whoever resumes the session, and to us; its export takes 1 only.
    assert {"odd-states": (5, 3)} == out.counts
    failed = {session: why.partition(":")[0] for session, why in out.failed.items()}
    not_utf8 = ("odd-contents", "odd-answers", "odd-results", "odd-title-bytes")
    # The last has messages and no row.
    assert dict.fromkeys(not_utf8, "OperationalError") | {"odd-orphan": "no such session"} == failed


# ---------------------------------------------------------------------------------------------------------- real stores

SURROGATE: dict[str, Cell] = {
    "0.19.0": ("20260114_172614_dc608e", 3, "content"),
    "migrated-0.13.0-to-0.19.0": ("20260114_172502_dc608e", 1, "content"),
    "synthetic-v23": ("20260114_172614_dc608e", 3, "content"),
}


@pytest.mark.parametrize("name", SURROGATE)
def test_real_stores(hermes_python: Path, shared: Path, tmp_path: Path, name: str) -> None:
    """All but two messages with half a surrogate pair: in parts, which Hermes fails to write to a file, and in arguments."""
    out = _compare(hermes_python, shared / "data" / "hermes" / name / "state.db", tmp_path)
    session, at, _ = SURROGATE[name]
    cells = {SURROGATE[name], (session, (at or 0) + 1, "tool_calls")}
    assert (set(), cells, {}, {}) == (out.absent, out.cells(), out.counts, out.failed)
    ours, theirs = out.differ[SURROGATE[name]]
    assert "structured \ud800 surrogate" == theirs[0]["text"]
    assert "structured  surrogate" == ours[0]["text"].replace("\ufffd", "")
    assert out.messages > 500

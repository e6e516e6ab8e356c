"""
Hermes itself takes our JSONL back: what its importer stores is what our reader found, cell by cell.

Where Hermes refuses a session, or stores something else than was read, the session and the cell are named here with the reason;
a cell that is named and does not differ fails too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_odd import CONTENTS, TOOL_CALLS
from hermes_parts import Case, assistant, tool, user
from peers import run

import satchel
from satchel.formats.hermes_rows import state_of
from satchel.jsontext import dumps

# Imports a file in batches within the importer's own bounds, then each refused session alone.
IMPORT = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB

def batches(records):
    batch, size, messages = [], 0, 0
    for record in records:
        more = len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
        full = size + more > SessionDB._IMPORT_MAX_TOTAL_BYTES or len(batch) == SessionDB._IMPORT_MAX_SESSIONS
        if batch and (full or messages + len(record["messages"]) > SessionDB._IMPORT_MAX_TOTAL_MESSAGES):
            yield batch
            batch, size, messages = [], 0, 0
        batch.append(record)
        size, messages = size + more, messages + len(record["messages"])
    if batch:
        yield batch

def attempt(db, batch):
    try:
        return db.import_sessions(batch)
    except Exception as error:
        return {"errors": [{"error": f"{type(error).__name__}: {error}"}]}

source, store, refused = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
with source.open(encoding="utf-8", newline="\\n") as file:
    records = [json.loads(line) for line in file]
db = SessionDB(store)
results = [attempt(db, batch) for batch in batches(r for r in records if r["id"] not in refused)]
alone = {r["id"]: [e["error"] for e in attempt(db, [r])["errors"]] for r in records if r["id"] in refused}
db.close()
print(json.dumps({"results": results, "alone": alone}))
"""

# The columns that the importer keeps; it resets the others, counts messages anew and gives them new ids.
# fmt: off
SESSION_COLUMNS = [
    "source", "user_id", "model", "model_config", "system_prompt", "parent_session_id", "started_at", "ended_at",
    "end_reason", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cwd",
    "git_branch", "git_repo_root", "billing_provider", "billing_base_url", "billing_mode", "estimated_cost_usd",
    "actual_cost_usd", "cost_status", "cost_source", "pricing_version", "title", "api_call_count", "archived",
]
MESSAGE_COLUMNS = [
    "role", "content", "tool_call_id", "tool_calls", "tool_name", "effect_disposition", "timestamp", "token_count",
    "finish_reason", "reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items",
    "platform_message_id", "observed", "api_content",
]
# fmt: on

Cell = tuple[str, int | None, str]
"""A session, the number of a live message in it (None for the session's own row), a column."""


class Compared:
    """What came of an import, beside what was read."""

    def __init__(self) -> None:
        self.differ: dict[Cell, tuple[Any, Any]] = {}
        self.hidden = 0
        self.live = 0
        self.detached = 0


def _import(
    python: Path, store: Path, folder: Path, *, refused: Mapping[str, str] = {}, renamed: Mapping[str, str] = {}
) -> Compared:
    """
    Export a store, let Hermes import it into an empty one, and compare the two.

    Args:
        refused: Sessions that Hermes must refuse, each with the error it must give.
        renamed: Ids that Hermes changes.
    """
    exported, imported = folder / "sessions.jsonl", folder / "imported" / "state.db"
    assert 0 == satchel.convert(store, exported).lost
    told = run(python, IMPORT, exported, imported, dumps(sorted(refused)).decode(), home=folder / "home")
    assert {name: [error] for name, error in refused.items()} == told["alone"]
    assert [] == [error for result in told["results"] for error in result["errors"]]
    out = Compared()
    out.detached = sum(result["detached"] for result in told["results"])
    taken = [session for result in told["results"] for session in result["imported_ids"]]
    with satchel.open(store) as opened, closing(sqlite3.connect(f"file:{imported}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        ids = [info.id for info in opened.sessions(counts=False) if info.id not in refused]
        assert sorted(renamed.get(session, session) for session in ids) == sorted(taken)
        assert len(ids) == sum(result["imported"] for result in told["results"])
        for session in ids:
            records = list(opened.records(session))
            shown = renamed.get(session, session)
            row = db.execute("SELECT * FROM sessions WHERE id = ?", (shown,)).fetchone()
            rows = db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", (shown,)).fetchall()
            _compare(out, (session, None), _session_row(r for r in records if r.kind != "messages"), row, SESSION_COLUMNS)
            messages = [r.data for r in records if r.kind == "messages"]
            live = [data for data in messages if state_of(data) == "live"]
            # What was compacted or taken back has not come back to life: what is there is live, and nothing else is there.
            assert len(live) == len(rows)
            assert all(row["active"] == 1 and row["compacted"] == 0 for row in rows)
            assert len(rows) == row["message_count"]
            for number, (data, stored) in enumerate(zip(live, rows, strict=True)):
                _compare(out, (session, number), data, stored, MESSAGE_COLUMNS)
            out.live += len(live)
            out.hidden += len(messages) - len(live)
    return out


def _session_row(records: Iterable[Any]) -> dict[str, Any]:
    """Return a session's row; the system prompt that newer schemas keep in a table of its own stands in it."""
    by_kind = {record.kind: record.data for record in records}
    row: dict[str, Any] = dict(by_kind.get("sessions", {}))
    prompt = by_kind.get("system_prompts")
    return row | ({"system_prompt": prompt["prompt"]} if prompt else {})


def _compare(out: Compared, at: tuple[str, int | None], read: Mapping[str, Any], stored: sqlite3.Row, columns: list[str]) -> None:
    for column in columns:
        if column in read and (read[column], type(read[column])) != (stored[column], type(stored[column])):
            out.differ[(*at, column)] = (read[column], stored[column])


# ---------------------------------------------------------------------------------------------------------- our own stores


@pytest.mark.parametrize("schema", [1, 5, 11, 14, 19, 22, 23, 30])
def test_the_story(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    out = _import(hermes_python, hermes_db(schema), tmp_path)
    # Versions before 14 and 17 had deleted what was taken back, and what was compacted.
    hidden = 11 if schema >= 17 else 2 if schema >= 14 else 0
    assert ({}, 63, hidden, 0) == (out.differ, out.live, out.hidden, out.detached)


DETACHED = {
    "ring-a": "it closes a ring",
    "self": "it is its own parent",
    "self-delegate": "it is its own parent",
    "pair-a": "it closes a ring",
    "no-parent": "its parent is in no store",
    "no-boss": "its parent is in no store",
}


@pytest.mark.parametrize("schema", [1, 14, 22, 23, 30])
def test_lineages_keep_their_parents(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    broken = {"bad-config": "model_config must be valid JSON"}
    out = _import(hermes_python, hermes_db(schema, "lineage"), tmp_path, refused=broken)
    parents = {session for (session, number, column) in out.differ if (number, column) == (None, "parent_session_id")}
    # An empty parent becomes none at all.
    assert {*DETACHED, "empty-parent"} == parents
    assert (len(parents), len(DETACHED), 92) == (len(out.differ), out.detached, out.live)


# ---------------------------------------------------------------------------------------------------------- oddities

REFUSED = {
    "odd-columns": "messages[13].role must be a non-empty string",
    "odd-config-broken": "model_config must be valid JSON",
    "odd-config-empty": "model_config must be valid JSON",
    "odd-config-list": "model_config must be a JSON object",
    "odd-config-scalar": "model_config must be a JSON object",
}
# What is no text in UTF-8, or JSON that other programs read otherwise, stands in `satchel.exact`, which Hermes passes over.
CHANGED_CONTENTS = {
    "scalar": "text again, as its own export shows it",
    "lone surrogate": "U+FFFD in its place",
    "duplicate keys": "the last one counts",
    "big numbers": "floats where they do not fit",
    "nan": "null",
    "spaced": "spaced as Hermes writes JSON",
    "blob": "text with U+FFFD",
    "empty blob": "empty text",
    "invalid utf-8": "text with U+FFFD",
    "surrogate bytes": "text with U+FFFD",
    "cut utf-8": "text with U+FFFD",
}
CHANGED_CALLS = {
    "text": "no JSON: none",
    "empty text": "no JSON: none",
    "empty list": "none",
    "null": "none",
    "big number": "a float where it does not fit",
    "surrogate": "U+FFFD in its place",
    "deep": "nested too deeply for most readers: none",
    "blob": "no text: none",
}
CHANGED: dict[Cell, str] = {
    ("odd-reasoning", 0, "reasoning"): "only the assistant reasons",
    ("odd-reasoning", 6, "reasoning_details"): "text that is no JSON becomes a JSON string",
    ("odd-time-rows", 2, "timestamp"): "text is no time: the time of the import",
    ("odd-time-rows", 3, "timestamp"): "JSON has no infinity: the time of the import",
    ("odd-time-inf", None, "started_at"): "JSON has no infinity: the time of the import",
    ("odd-time-inf", None, "ended_at"): "JSON has no infinity",
    ("odd-time-minus-inf", None, "started_at"): "JSON has no infinity: the time of the import",
    ("odd-time-minus-inf", None, "ended_at"): "JSON has no infinity",
    ("odd-time-text", None, "started_at"): "text is no time: the time of the import",
    ("odd-time-text", None, "ended_at"): "text is no time",
    ("odd-time-blob", None, "started_at"): "a BLOB is no time: the time of the import",
    ("odd-time-blob", None, "ended_at"): "a BLOB is no time",
    ("odd-count-null", None, "input_tokens"): "no number: 0",
    ("odd-count-text", None, "estimated_cost_usd"): "text is no number",
    ("odd-count-text", None, "archived"): "any text counts as yes",
    ("odd-count-huge", None, "estimated_cost_usd"): "JSON has no infinity",
    ("odd-title-bytes", None, "cwd"): "text with U+FFFD",
    ("odd-title-bytes", None, "title"): "text with U+FFFD",
    ("odd-title-blob", None, "title"): "text",
    ("odd-nothing", None, "source"): "no source: import",
    ("odd-config-blob", None, "model_config"): "text",
}


def test_oddities(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """What the store's reader found odd, Hermes takes or refuses for reasons that are known one by one."""
    out = _import(hermes_python, hermes_db(case="odd"), tmp_path, refused=REFUSED, renamed={" blank ": "blank"})
    contents, calls = list(CONTENTS), list(TOOL_CALLS)
    expected = set(CHANGED)
    for session in ("odd-contents", "odd-answers", "odd-results"):
        expected |= {(session, contents.index(name), "content") for name in CHANGED_CONTENTS}
    expected |= {("odd-calls", 1 + calls.index(name), "tool_calls") for name in CHANGED_CALLS}
    assert expected == set(out.differ)
    assert 2 == out.hidden
    shown = [out.differ[("odd-contents", contents.index(name), "content")][1] for name in ("scalar", "nan", "blob")]
    assert ["a JSON string after the prefix", '\0json:{"n": null}', "\ufffdPNG\r\n\x1a\n\0\ufffd"] == shown


def test_what_is_too_large_and_titles_that_clash_are_refused(hermes_python: Path, tmp_path: Path) -> None:
    """Hermes' importer has bounds, and holds titles for unique; nothing of ours could make it take such sessions."""
    case = Case()
    case.add("in-bounds", 1_775_000_000.0, [user("x" * 5_000_000), assistant("Long.")])
    case.add("too-large", 1_775_000_100.0, [user("x" * 5_242_880)])
    case.add("too-many", 1_775_000_200.0, [tool(None, "t", "tick") for _ in range(10_001)])
    case.add("title", 1_775_000_300.0, [user("The first of this name.")], title="Tides")
    case.add("title-again", 1_775_000_400.0, [user("The second.")])
    case.statements.append("DROP INDEX IF EXISTS idx_sessions_title_unique")
    case.statements.append("UPDATE sessions SET title = 'Tides' WHERE id = 'title-again'")
    refused = {
        "too-large": "session exceeds the import size limit",
        "too-many": "messages exceeds the per-session import limit",
        "title-again": "IntegrityError: UNIQUE constraint failed: sessions.title",
    }
    out = _import(hermes_python, write(tmp_path / "state.db", case, fts=False), tmp_path, refused=refused)
    assert ({}, 3) == (out.differ, out.live)


# ---------------------------------------------------------------------------------------------------------- real stores

# Each store has one such message, and a call after it: U+FFFD stands for the half of a pair in its structured content, and in the
# call's arguments.
SURROGATE: dict[str, Cell] = {
    "0.13.0": ("20260114_172502_dc608e", 1, "content"),
    "0.17.0": ("20260114_172509_dc608e", 1, "content"),
    "0.19.0": ("20260114_172614_dc608e", 3, "content"),
    "migrated-0.13.0-to-0.19.0": ("20260114_172502_dc608e", 1, "content"),
    "synthetic-v23": ("20260114_172614_dc608e", 3, "content"),
    "damaged/active-null": ("20260114_172502_dc608e", 1, "content"),
    "damaged/future": ("20260114_172614_dc608e", 3, "content"),
}
NOTHING_HIDDEN = {"0.13.0", "migrated-0.13.0-to-0.19.0"}
"""Stores of versions that deleted what was taken back."""


def _call_after(cell: Cell) -> Cell:
    session, at, _ = cell
    return (session, (at or 0) + 1, "tool_calls")


@pytest.mark.parametrize("name", SURROGATE)
def test_real_stores(hermes_python: Path, shared: Path, tmp_path: Path, name: str) -> None:
    out = _import(hermes_python, _real(shared, name), tmp_path)
    assert [SURROGATE[name], _call_after(SURROGATE[name])] == sorted(out.differ)
    assert (name in NOTHING_HIDDEN, True) == (out.hidden == 0, out.live > 500)


def test_a_real_store_with_odd_rows(hermes_python: Path, shared: Path, tmp_path: Path) -> None:
    refused = {
        "odd_json": "model_config must be valid JSON",
        "dup_title_2": "IntegrityError: UNIQUE constraint failed: sessions.title",
    }
    changed: dict[Cell, str] = {
        SURROGATE["0.19.0"]: "U+FFFD in its place",
        _call_after(SURROGATE["0.19.0"]): "U+FFFD in its place",
        ("odd_bytes", 0, "content"): "a BLOB: text with U+FFFD",
        ("odd_bytes", 1, "content"): "text with U+FFFD",
        ("odd_bytes", 2, "tool_calls"): "no JSON: none",
        ("odd_utf8_title", None, "system_prompt"): "text with U+FFFD",
        ("odd_utf8_title", None, "title"): "text with U+FFFD",
        ("odd_times", 1, "timestamp"): "JSON has no infinity: the time of the import",
        ("odd_times", 6, "timestamp"): "text is no time: the time of the import",
        ("odd_times_text", None, "started_at"): "text is no time: the time of the import",
        ("odd_times_text", None, "ended_at"): "text is no time",
        ("cycle_a", None, "parent_session_id"): "it closes a ring",
        ("self_parent", None, "parent_session_id"): "it is its own parent",
        ("lost_parent", None, "parent_session_id"): "its parent is in no store",
    }
    out = _import(hermes_python, _real(shared, "damaged/odd-rows"), tmp_path, refused=refused)
    assert set(changed) == set(out.differ)
    assert 3 == out.detached


def _real(shared: Path, name: str) -> Path:
    folder = shared / "data" / "hermes"
    return folder / f"{name}.db" if "/" in name else folder / name / "state.db"

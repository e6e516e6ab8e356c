"""
The `datasets` library loads our JSONL and takes it for what it is, agent traces of Hermes: one row a session.

Sessions on which it fails are named here with the reason; one of them is enough to fail a whole file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_parts import Case, assistant, call, tool, user
from peers import run

import satchel

# Loads a file, then each of some sessions alone, beside one that loads for sure; tells what came of each.
LOAD = """
import json, sys
from pathlib import Path
import datasets
datasets.disable_progress_bars()
datasets.logging.set_verbosity(datasets.logging.CRITICAL)

def load(path):
    loaded = datasets.load_dataset("json", data_files=[str(path)], split="train", cache_dir=str(cache))
    keys = ("harness", "session_id", "prompt", "messages", "num_user_messages", "num_tool_calls", "trace")
    return {"columns": loaded.column_names, "rows": [{k: row.get(k) for k in keys} for row in loaded]}

def failure(path):
    try:
        load(path)
    except Exception as error:
        while error.__cause__ or error.__context__:
            error = error.__cause__ or error.__context__
        return f"{type(error).__name__}: {error}"

path, alone, cache, out = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
failures = {one.stem: failure(one) for one in sorted(alone.glob("*.jsonl"))}
out.write_text(json.dumps({"whole": load(path), "failures": failures}), "ascii")
print(json.dumps(None))
"""

TRACE_COLUMNS = {"harness", "session_id", "prompt", "messages", "tools", "metadata", "sent_at", "trace", "file_path"}


class Loaded:
    """What `datasets` made of an export: its columns and rows, and our records of the same sessions, in order."""

    def __init__(self, records: list[dict[str, Any]], columns: Iterable[str], rows: list[dict[str, Any]]) -> None:
        self.records = records
        self.columns = set(columns)
        self.rows = rows

    def check(self) -> None:
        """Each session is a row of a trace, in order."""
        assert TRACE_COLUMNS <= self.columns
        assert {"hermes"} == {row["harness"] for row in self.rows}
        assert [record["id"] for record in self.records] == [row["session_id"] for row in self.rows]
        assert [record["id"] for record in self.records] == [row["trace"]["id"] for row in self.rows]

    def roles(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return who said each message, by our records and by the rows."""
        return (
            [[message["role"] for message in record["messages"]] for record in self.records],
            [[message["role"] for message in row["messages"]] for row in self.rows],
        )


def _load(python: Path, store: Path, folder: Path, *, fails: Mapping[str, str] = {}, sure: str | None = None) -> Loaded:
    """
    Export a store and load it.

    Args:
        fails: Sessions on which it must fail, each with the beginning of what it must say; they are left out of the file.
        sure: The session that is set before each of those, so that the file is recognised at all; by default the first.
    """
    whole, alone = folder / "sessions.jsonl", folder / "alone"
    assert 0 == satchel.convert(store, folder / "exported.jsonl").lost
    with (folder / "exported.jsonl").open("rb") as file:
        lines = {json.loads(line)["id"]: line for line in file}
    whole.write_bytes(b"".join(line for session, line in lines.items() if session not in fails))
    alone.mkdir()
    for session in fails:
        (alone / f"{session}.jsonl").write_bytes(lines[sure or next(iter(lines))] + lines[session])
    run(python, LOAD, whole, alone, folder / "cache", folder / "loaded.json", home=folder / "home")
    told = json.loads((folder / "loaded.json").read_text("ascii"))
    assert dict(fails) == {session: said and said[: len(fails[session])] for session, said in told["failures"].items()}
    records = [json.loads(line) for session, line in lines.items() if session not in fails]
    return Loaded(records, told["whole"]["columns"], told["whole"]["rows"])


@pytest.mark.parametrize("schema", [5, 23, 30])
def test_the_story(datasets_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    loaded = _load(datasets_python, hermes_db(schema), tmp_path)
    loaded.check()
    assert (14, 63) == (len(loaded.rows), sum(len(row["messages"]) for row in loaded.rows))
    ours, theirs = loaded.roles()
    assert ours == theirs
    first = loaded.rows[1]
    assert "The tide table for Lagos is off by one hour since Sunday." == first["prompt"].partition(" The tests")[0]
    assert {"path": "src/tidepool/tables.py", "offset": 40, "limit": 30} == first["messages"][1]["tool_calls"][1]["function"][
        "arguments"
    ]
    assert {record["id"]: record["tool_call_count"] for record in loaded.records} == {
        row["session_id"]: row["num_tool_calls"] for row in loaded.rows
    }


def test_sessions_that_say_little(datasets_python: Path, tmp_path: Path) -> None:
    """Sessions without messages, model or source count too, as long as one session of the first ten megabytes has them."""
    case = Case()
    case.add("empty", 1_775_000_000.0)
    case.add("no-model", 1_775_000_100.0, [user("Hello?")], model=None, source="")
    case.add("usual", 1_775_000_200.0, [user("The time?"), assistant(None, call("c1", "now")), tool("c1", "now", "noon")])
    case.add("structured", 1_775_000_300.0, [user('\0json:[{"type": "text", "text": "Parts."}]')], title="", cwd=None)
    case.add("prompted", 1_775_000_400.0, [user("Again."), assistant("Noon.", reasoning="So it is.")], system_prompt="Be brief.")
    case.row("state_meta", key="goal:empty", value="{}")
    loaded = _load(datasets_python, write(tmp_path / "state.db", case, fts=False), tmp_path)
    loaded.check()
    ours, theirs = loaded.roles()
    assert ours == theirs
    assert ["", "Hello?", "The time?", "Parts.", "Again."] == [row["prompt"] for row in loaded.rows]
    assert [0, 1, 1, 1, 1] == [row["num_user_messages"] for row in loaded.rows]


def test_a_column_without_any_value_hides_what_the_file_is(
    datasets_python: Path, hermes_db: Callable[..., Path], tmp_path: Path
) -> None:
    """`datasets` looks for texts under id, source, model and system_prompt; here no session has a prompt. The rows are there."""
    loaded = _load(datasets_python, hermes_db(case="lineage"), tmp_path)
    assert (47, False, True) == (len(loaded.rows), "harness" in loaded.columns, {"id", "messages", "satchel"} <= loaded.columns)


FAILS = {
    "odd-time-text": "TypeError: '<=' not supported between instances of 'str' and 'int'",
    "odd-time-blob": "TypeError: '<=' not supported between instances of 'str' and 'int'",
    "odd-time-inf": "TypeError: '<=' not supported between instances of 'NoneType' and 'int'",
    "odd-time-minus-inf": "TypeError: '<=' not supported between instances of 'NoneType' and 'int'",
    "odd-time-negative": "ValueError: year 0 is out of range",
    "odd-time-ms": "ValueError: year 56264133 is out of range",
    "odd-time-huge": "OverflowError: timestamp out of range",
}
"""It makes a date of `started_at`, whatever stands there."""


def test_the_oddities(datasets_python: Path, hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db(case="odd")
    # No oddity has a prompt, and without any the file would not be recognised.
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE sessions SET system_prompt = 'Be odd.' WHERE id = 'odd-empty'")
        db.commit()
    loaded = _load(datasets_python, store, tmp_path, fails=FAILS, sure="odd-empty")
    loaded.check()
    assert 71 == len(loaded.rows)


REAL = ("0.13.0", "0.17.0", "0.19.0", "migrated-0.13.0-to-0.19.0", "synthetic-v23")


@pytest.mark.parametrize("name", REAL)
def test_real_stores(datasets_python: Path, shared: Path, tmp_path: Path, name: str) -> None:
    """Each has a session with U+2028 in a text, where `datasets` cuts lines, and one with half a character in arguments."""
    loaded = _load(datasets_python, shared / "data" / "hermes" / name / "state.db", tmp_path)
    loaded.check()
    assert len(loaded.rows) > 60

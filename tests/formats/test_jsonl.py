"""A line of JSON holds all of a session: what is read back is what the store holds, and says so by its digest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from exporting import MemoryTarget, View, exported
from hermes_cases import write
from hermes_parts import Case, assistant, compacted, rewound, structured, user
from hermes_schema import LATEST, SCHEMAS
from strategies import spelled

from satchel.contracts import Record, Store
from satchel.digest import content_digest
from satchel.errors import UsageError
from satchel.events import Problem, ignore
from satchel.formats import spool
from satchel.formats.hermes_state import reader as hermes
from satchel.formats.jsonl import reader, writer
from satchel.formats.jsonl.readback import ReadBack, read_back
from satchel.formats.jsonl.record import RESERVED

Build = Callable[..., Path]


def _spelt(records: Iterator[Record]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return records to compare: facts in any order, messages in theirs, columns in any order."""
    rows = [(record.kind, sorted(spelled(record.data).items())) for record in records]
    return sorted(row for row in rows if row[0] != "messages") + [row for row in rows if row[0] == "messages"]


def _read_back(path: Path) -> dict[str, ReadBack]:
    read = bytearray()
    found: dict[str, ReadBack] = {}
    for back in read_back(path, update=read.extend):
        assert not isinstance(back, Problem), back
        assert back.session_id not in found
        found[back.session_id] = back
    assert path.read_bytes() == read
    return found


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_is_read_back_is_what_the_store_holds(hermes_db: Build, tmp_path: Path, schema: int, case: str) -> None:
    out = tmp_path / "out.jsonl"
    with hermes.open(hermes_db(schema, case), listen=ignore) as store:
        data, written, digests = exported(store)
        out.write_bytes(data)
        back = _read_back(out)
        with reader.open(out, listen=ignore) as again:
            infos = list(store.sessions())
            assert sorted(info.id for info in infos) == sorted(info.id for info in again.sessions())
            for info, line in zip(infos, written, strict=True):
                assert _spelt(store.records(info.id)) == _spelt(again.records(info.id))
                copy = again.session(info.id)
                assert replace(info, format="", store="") == replace(copy, format="", store="")
                digest = content_digest(again.records(info.id), again.canonical)
                assert digests[info.id] == digest == back[info.id].content_digest
                counts = (info.messages, info.compacted, info.rewound)
                assert counts == (line.messages, line.compacted, line.rewound) == back[info.id][3:6]
                assert line.line == back[info.id].line


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
@pytest.mark.parametrize("schema", [1, 13, 16, LATEST, 30])
def test_a_line_that_must_be_parsed_whole_gives_the_same_digest(hermes_db: Build, tmp_path: Path, schema: int, case: str) -> None:
    """A line in another spelling says the same: spaces, keys in another order, escapes."""
    out, other = tmp_path / "out.jsonl", tmp_path / "other.jsonl"
    with hermes.open(hermes_db(schema, case), listen=ignore) as store:
        data, _, digests = exported(store)
    out.write_bytes(data)
    values = [json.loads(line) for line in data.splitlines()]
    other.write_text("".join(json.dumps(dict(reversed(value.items()))) + "\n" for value in values))
    assert digests == {name: back.content_digest for name, back in _read_back(out).items()}
    assert digests == {name: back.content_digest for name, back in _read_back(other).items()}


def test_the_digest_of_a_copy_of_a_copy_is_the_same(hermes_db: Build, tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    with hermes.open(hermes_db(case="odd"), listen=ignore) as store:
        data, _, digests = exported(store)
    path.write_bytes(data)
    with reader.open(path, listen=ignore) as copy:
        again, _, same = exported(copy, *digests)
    assert digests == same
    assert data == again


# ---------------------------------------------------------------------------------------------------------- the layout


def _line(path: Path, session_id: str, *more: str) -> Any:
    with hermes.open(path, listen=ignore) as store:
        data, _, _ = exported(store, [session_id, *more])
    assert 1 == data.count(b"\n")
    assert data.endswith(b"}\n")
    return orjson.loads(data)


@pytest.mark.parametrize("case", ["story", "odd", "lineage"])
def test_every_json_reader_understands_a_line(hermes_db: Build, case: str) -> None:
    with hermes.open(hermes_db(case=case), listen=ignore) as store:
        data, _, _ = exported(store)
    for line in data.splitlines(keepends=True):
        assert orjson.loads(line) == json.loads(line.decode())
        assert line.count(b"\n") == 1


def test_the_order_of_keys(hermes_db: Build) -> None:
    line = _line(hermes_db(), "20260303_091000_5d2e88")
    first, *columns = line
    assert "id" == first
    assert ["message_count", "tool_call_count", "messages", "last_active", "satchel"] == columns[-5:]
    assert sorted(columns[:-5]) == columns[:-5]
    assert ["v", "hidden", "usage"] == list(line["satchel"])


def test_hidden_rows_are_none_of_the_messages(hermes_db: Build) -> None:
    """Hermes' importer would bring them back to life."""
    for session_id, states in (("20260303_091000_5d2e88", {(0, 1)}), ("20260302_141500_b07e52", {(0, 0)})):
        line = _line(hermes_db(), session_id)
        assert {1} == {row["active"] for row in line["messages"]}
        assert states == {(row["active"], row["compacted"]) for row in line["satchel"]["hidden"]}


def test_a_session_of_nothing_but_hidden_rows(tmp_path: Path) -> None:
    case = Case()
    case.add("gone", 1e9, [*rewound([user("a"), assistant("b")]), *compacted([user("c")])])
    path = write(tmp_path / "state.db", case)
    out = tmp_path / "out.jsonl"
    with hermes.open(path, listen=ignore) as store:
        data, written, digests = exported(store)
        out.write_bytes(data)
        assert (0, 1, 2) == (written[0].messages, written[0].compacted, written[0].rewound)
        assert ReadBack(1, "gone", digests["gone"], 0, 1, 2) == _read_back(out)["gone"]
    assert [] == orjson.loads(data)["messages"]


def test_hidden_rows_that_stand_between_live_ones_keep_their_place(tmp_path: Path) -> None:
    case = Case()
    case.add("mixed", 1e9, [user("1"), *rewound([user("2")]), user("3"), *compacted([user("4")]), user("5")])
    out = tmp_path / "out.jsonl"
    with hermes.open(write(tmp_path / "state.db", case), listen=ignore) as store:
        data, _, digests = exported(store)
    out.write_bytes(data)
    with reader.open(out, listen=ignore) as again:
        said = [record.data["content"] for record in again.records("mixed") if record.kind == "messages"]
    assert ["1", "2", "3", "4", "5"] == said
    assert digests["mixed"] == _read_back(out)["mixed"].content_digest


def test_structured_content_that_speaks_of_states_is_content(tmp_path: Path) -> None:
    """`"compacted":1` may stand in what somebody said; in a version without the column nothing else does."""
    for schema in (14, 16, 17, LATEST):
        case = Case()
        said = structured({"active": 0, "compacted": 1, "content": "x", "id": 9})
        case.add("s", 1e9, [user(said), *rewound([user(said), user(said, api_content='"compacted":1,"content":')])])
        path, out = write(tmp_path / f"{schema}.db", case, schema=schema), tmp_path / f"{schema}.jsonl"
        with hermes.open(path, listen=ignore) as store:
            data, _, digests = exported(store)
        out.write_bytes(data)
        assert (digests["s"], 1, 0, 2) == _read_back(out)["s"][2:6], schema


def test_the_newest_time_is_said(hermes_db: Build) -> None:
    line = _line(hermes_db(), "20260302_083000_3f9a1c")
    assert max(row["timestamp"] for row in line["messages"]) == line["last_active"]
    line = _line(hermes_db(case="odd"), "odd-empty")
    assert line["started_at"] == line["last_active"]


def test_prompts_of_later_versions_stand_where_hermes_looks_for_them(hermes_db: Build) -> None:
    line = _line(hermes_db(30), "20260302_083000_3f9a1c")
    assert line["system_prompt"].startswith("You are Hermes")
    assert {"null": True} == line["satchel"]["exact"]["/system_prompt"]
    assert "tables" not in line["satchel"]


def test_rows_of_other_tables_stand_beside_the_messages(hermes_db: Build) -> None:
    aside = _line(hermes_db(), "20260305_071500_7e1e63a1")["satchel"]
    assert ["agent:main:telegram:dm:700100200"] == [row["session_key"] for row in aside["routing"]]
    assert ["17"] == [row["thread_id"] for row in aside["tables"]["telegram_dm_topic_bindings"]]
    aside = _line(hermes_db(case="odd"), "odd-stranger")["satchel"]
    assert {"goal:odd-stranger": "not JSON"} == aside["meta"]
    assert ["of a sheep", None] == [row["body"] for row in aside["unknown"]["dreams"]]


def test_messages_without_a_session_are_marked(hermes_db: Build) -> None:
    line = _line(hermes_db(case="odd"), "odd-orphan")
    assert ("odd-orphan", "recovered", True) == (line["id"], line["source"], line["satchel"]["orphan"])


def test_columns_that_are_called_as_keys_of_the_line_are_kept(tmp_path: Path) -> None:
    case = Case()
    case.add("s", 1e9, [user("x")])
    case.statements += [
        f"ALTER TABLE {table} ADD COLUMN {c} BLOB" for table in ("sessions", "messages") for c in sorted(RESERVED)
    ]
    case.statements += [
        f"UPDATE {table} SET messages = x'ff', satchel = 'x', last_active = 5" for table in ("sessions", "messages")
    ]
    out = tmp_path / "out.jsonl"
    with hermes.open(write(tmp_path / "state.db", case), listen=ignore) as store:
        data, _, digests = exported(store)
        out.write_bytes(data)
        with reader.open(out, listen=ignore) as again:
            assert _spelt(store.records("s")) == _spelt(again.records("s"))
    assert digests["s"] == _read_back(out)["s"].content_digest


def test_names_with_slashes_and_tildes_find_their_notes(tmp_path: Path) -> None:
    case = Case()
    case.add("s", 1e9, [user("x")])
    for table in ("sessions", "messages"):
        case.statements += [f'ALTER TABLE {table} ADD COLUMN "{name}" BLOB' for name in ("a/b", "a~b", "~1", "/", "")]
        case.statements += [
            f"UPDATE {table} SET \"{name}\" = x'{place:02x}ff'" for place, name in enumerate(("a/b", "a~b", "~1", "/", ""))
        ]
    case.statements += [
        'CREATE TABLE "t/~0" (session_id TEXT, "x/y" BLOB)',
        "INSERT INTO \"t/~0\" VALUES ('s', x'ff'), ('s', x'fe')",
    ]
    case.row("state_meta", key="a/~:s", value=b"\xff")
    out = tmp_path / "out.jsonl"
    with hermes.open(write(tmp_path / "state.db", case), listen=ignore) as store:
        out.write_bytes(exported(store)[0])
        with reader.open(out, listen=ignore) as again:
            assert _spelt(store.records("s")) == _spelt(again.records("s"))


# ---------------------------------------------------------------------------------------------------------- lineages

CHAIN = ("20260304_100000_a11ce0", "20260304_113000_a11ce1", "20260304_130500_a11ce2")


@pytest.mark.parametrize(
    ("case", "schema", "ids"),
    [("story", LATEST, CHAIN), ("story", 30, CHAIN), ("lineage", 17, ("chain-1", "chain-2", "chain-3"))],
)
def test_a_lineage_is_one_line_and_every_segment_comes_back(
    hermes_db: Build, tmp_path: Path, case: str, schema: int, ids: Sequence[str]
) -> None:
    out = tmp_path / "out.jsonl"
    with hermes.open(hermes_db(schema, case), listen=ignore) as store:
        data, written, digests = exported(store, ids)
        out.write_bytes(data)
        assert 1 == data.count(b"\n")
        back = _read_back(out)
        assert list(ids) == list(back)
        with reader.open(out, listen=ignore) as again:
            for session_id in ids:
                info = store.session(session_id)
                assert _spelt(store.records(session_id)) == _spelt(again.records(session_id))
                assert replace(info, format="", store="") == replace(again.session(session_id), format="", store="")
                digest = content_digest(again.records(session_id), again.canonical)
                assert digests[session_id] == digest == back[session_id].content_digest
                assert (info.messages, info.compacted, info.rewound) == back[session_id][3:6]
        (line,) = written
        assert sum(store.session(i).messages or 0 for i in ids) == line.messages


def test_a_lineage_shows_once_what_was_carried_over(tmp_path: Path) -> None:
    summary = user("[CONTEXT COMPACTION — REFERENCE ONLY] We talked.")
    case = Case()
    case.add("one", 1e9, [user("1"), assistant("2"), user("3"), assistant("4")], ended_at=1e9 + 90, end_reason="compression")
    turns = [user("1"), summary, user("3"), assistant("4"), user("5"), *rewound([user("6")])]
    case.add("two", 1e9 + 100, turns, parent_session_id="one")
    path, out = write(tmp_path / "state.db", case), tmp_path / "out.jsonl"
    with hermes.open(path, listen=ignore) as store:
        data, (written,), digests = exported(store, ["one", "two"])
    out.write_bytes(data)
    line = orjson.loads(data)
    assert ["1", "2", "3", "4", summary["content"], "5"] == [row["content"] for row in line["messages"]]
    assert ["1", "3", "4"] == [row["content"] for row in line["satchel"]["carried"]]
    assert ["6"] == [row["content"] for row in line["satchel"]["hidden"]]
    assert "two" == line["id"]
    assert ["one", "two"] == [segment["session"]["id"] for segment in line["satchel"]["segments"]]
    assert (9, 0, 1) == (written.messages, written.compacted, written.rewound)
    assert digests == {name: back.content_digest for name, back in _read_back(out).items()}
    with reader.open(out, listen=ignore) as again:
        said = [record.data["content"] for record in again.records("two") if record.kind == "messages"]
    assert ["1", summary["content"], "3", "4", "5", "6"] == said


def test_a_lineage_with_every_oddity(hermes_db: Build, tmp_path: Path) -> None:
    """Sessions that belong together in no other way: what a line of several must be able to hold."""
    ids = [
        "odd-contents",
        "odd-orphan",
        "odd-states",
        "odd-title-bytes",
        "odd-stranger",
        "odd-empty",
        "odd-calls",
        "nul\x00inside",
    ]
    out = tmp_path / "out.jsonl"
    with hermes.open(hermes_db(case="odd"), listen=ignore) as store:
        data, _, digests = exported(store, ids)
        out.write_bytes(data)
        with reader.open(out, listen=ignore) as again:
            for session_id in ids:
                assert _spelt(store.records(session_id)) == _spelt(again.records(session_id)), session_id
    assert digests == {name: back.content_digest for name, back in _read_back(out).items()}


# ---------------------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("case", ["story", "odd"])
def test_what_waits_in_a_file_is_written_as_what_waits_in_memory(
    hermes_db: Build, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    with hermes.open(hermes_db(case=case), listen=ignore) as store:
        groups: list[Any] = [info.id for info in store.sessions()]
        groups += [CHAIN] if case == "story" else []
        before = exported(store, *groups)
        for most, batch in ((0, 0), (1, 1 << 20), (100, 50)):
            monkeypatch.setattr(spool, "_MOST", most)
            monkeypatch.setattr(writer, "_BATCH", batch)
            assert before == exported(store, *groups)


def test_a_file_that_waits_is_gone_afterwards(hermes_db: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spool, "_MOST", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    with hermes.open(hermes_db(), listen=ignore) as store:
        exported(store)
    assert [] == list((tmp_path / "empty").iterdir())


def test_a_break_leaves_the_stream_unfinished(hermes_db: Build) -> None:
    class Broken(View):
        def records(self, segment: int = -1, /) -> Iterator[Record]:
            yield from list(super().records(segment))[:3]
            raise KeyError("the store is gone")

    target = MemoryTarget()

    def export(store: Store) -> None:
        with writer.open(target, options={}, listen=ignore) as run:
            run.add(View(store, "20260302_083000_3f9a1c"))
            run.add(Broken(store, "20260302_141500_b07e52"))

    with hermes.open(hermes_db(), listen=ignore) as store, pytest.raises(KeyError):
        export(store)
    assert [False] == [stream.finished for stream in target.streams]


def test_the_same_sessions_give_the_same_bytes(hermes_db: Build) -> None:
    path = hermes_db(case="odd")
    with hermes.open(path, listen=ignore) as one, hermes.open(path, listen=ignore, private=True) as other:
        assert exported(one) == exported(other)


@pytest.mark.parametrize("options", [{"only": "everything"}, {"colour": True}, {"only": "user-prompts", "x": 1}])
def test_an_unknown_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        writer.open(MemoryTarget(), options=options, listen=ignore)


@pytest.mark.parametrize("columns", ["key TEXT, value TEXT", "value TEXT, key", "key TEXT, val TEXT", "key TEXT, value, more"])
def test_a_table_of_keys_that_is_made_otherwise_loses_no_row(hermes_db: Build, tmp_path: Path, columns: str) -> None:
    """Without a unique key it may hold one key twice; and its columns may be others."""
    path = hermes_db(LATEST, "story")
    with closing(sqlite3.connect(path)) as db, db:
        session_id = db.execute("SELECT min(id) FROM sessions").fetchone()[0]
        value = "val" if "val " in columns else "value"
        db.execute("DROP TABLE state_meta")
        db.execute(f"CREATE TABLE state_meta ({columns})")
        db.executemany(f"INSERT INTO state_meta (key, {value}) VALUES (?, ?)", [(f"goal:{session_id}", x) for x in "abb"])
    out = tmp_path / "out.jsonl"
    with hermes.open(path, listen=ignore) as store:
        data, _, digests = exported(store, session_id)
        out.write_bytes(data)
        with reader.open(out, listen=ignore) as again:
            found = _spelt(store.records(session_id))
            assert 3 == sum(kind == "state_meta" for kind, _ in found)
            assert found == _spelt(again.records(session_id))
    assert digests[session_id] == _read_back(out)[session_id].content_digest

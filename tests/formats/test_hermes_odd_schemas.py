"""Databases that no Hermes made, or made long ago and changed by hand: read by name, value for value, or refused in words."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import plain_rows
import pytest
from strategies import spelled

from satchel import library
from satchel.contracts import Record, SessionInfo
from satchel.errors import NotAStore, StoreError
from satchel.events import Event, Problem, ignore
from satchel.formats.hermes_info import message_order, public_id
from satchel.formats.hermes_rows import state_of, stored_row, visible_row
from satchel.formats.hermes_state import reader
from satchel.jsontext import RawText

SESSIONS = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, parent_session_id TEXT)"
MESSAGES = """CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT, tool_calls TEXT, timestamp REAL NOT NULL)"""
ONE = """INSERT INTO sessions VALUES ('s', 'cli', 1.5, NULL);
    INSERT INTO messages VALUES (1, 's', 'user', 'Hello there', NULL, 2.5), (2, 's', 'assistant', 'Hi.', NULL, 3.5);"""


def _made(path: Path, *statements: str, encoding: str = "UTF-8") -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.executescript(";\n".join(statements))
    return path


def _read(path: Path) -> tuple[list[SessionInfo], dict[str, list[Record]], list[Problem]]:
    heard: list[Event] = []
    with reader.open(path, listen=heard.append) as store:
        infos = list(store.sessions())
        for info in infos:
            assert info == store.session(info.id)
        records = {info.id: list(store.records(info.id)) for info in infos}
        store.check()
    return infos, records, [event for event in heard if isinstance(event, Problem)]


def _rows(records: list[Record], kind: str) -> list[dict[str, str]]:
    return [spelled(record.data) for record in records if record.kind == kind]


def test_the_least_that_is_a_store(tmp_path: Path) -> None:
    infos, records, problems = _read(_made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE))
    assert [("s", 2, 0, 0, 3.5)] == [(i.id, i.messages, i.compacted, i.rewound, i.last_active) for i in infos]
    assert ["sessions", "messages", "messages"] == [record.kind for record in records["s"]]
    assert ["it has no search index; nothing of a session is missing for that"] == [problem.message for problem in problems]


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_database_in_utf16(tmp_path: Path, encoding: str) -> None:
    texts = ["Hello.", "満潮は？", "👩‍💻", "a\0b", "\ufeff", "", '\0json:["é"]']
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, "INSERT INTO sessions VALUES ('sé', 'cli', 1, NULL)", encoding=encoding)
    with closing(sqlite3.connect(path)) as db, db:
        for text in texts:
            db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('sé', 'user', ?, 1)", (text,))
    infos, records, _ = _read(path)
    assert [("sé", len(texts))] == [(info.id, info.messages) for info in infos]
    assert texts == [record.data["content"] for record in records["sé"] if record.kind == "messages"]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE s (id, source, started_at)", "CREATE VIEW sessions AS SELECT * FROM s", MESSAGES),
        (SESSIONS, "CREATE TABLE m (id, session_id, role, content)", "CREATE VIEW messages AS SELECT * FROM m"),
        (SESSIONS, "CREATE VIRTUAL TABLE messages USING fts5(id, session_id, role, content)"),
        ("CREATE TABLE sessions (id TEXT, user TEXT, expires REAL)", "CREATE TABLE messages (id, body)"),
        (SESSIONS,),
        ("CREATE TABLE other (x)",),
        ("CREATE TABLE Sessions_ (id)",),
        ("CREATE TABLE Sessions (ID, SOURCE)", MESSAGES),
    ],
)
def test_another_programs_database_is_refused(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """A view or virtual table of the right name and columns could run anything."""
    with pytest.raises(NotAStore, match="not a Hermes store"):
        reader.open(_made(tmp_path / "a.db", *statements), listen=ignore)


def test_a_view_beside_the_tables_is_not_looked_at(tmp_path: Path) -> None:
    view = "CREATE VIEW dreams AS SELECT id AS session_id, zeroblob(1000000000) AS body FROM sessions"
    _, records, _ = _read(_made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, view))
    assert ["sessions", "messages", "messages"] == [record.kind for record in records["s"]]


def test_tables_without_rowids(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS + " WITHOUT ROWID",
        MESSAGES.replace(" AUTOINCREMENT", "") + " WITHOUT ROWID",
        ONE,
        "CREATE TABLE dreams (night TEXT, session_id TEXT, no INTEGER, body TEXT, PRIMARY KEY (night, no)) WITHOUT ROWID",
        "INSERT INTO dreams VALUES ('b', 's', 2, 'x'), ('a', 's', 1, NULL), ('a', 't', 2, 'z')",
        "INSERT INTO dreams VALUES (CAST(x'ff' AS TEXT), 's', 3, CAST(x'fe' AS TEXT))",
        "CREATE TABLE naps (session_id TEXT PRIMARY KEY, length REAL) WITHOUT ROWID",
        "INSERT INTO naps VALUES ('s', 1e999)",
    )
    _, records, problems = _read(path)
    assert ["sessions", "dreams", "dreams", "dreams", "naps", "messages", "messages"] == [r.kind for r in records["s"]]
    bodies = {repr(record.data["body"]) for record in records["s"] if record.kind == "dreams"}
    assert {"'x'", "None", "RawText(b'\\xfe')"} == bodies
    assert 0 == sum(problem.lost for problem in problems)


def test_generated_columns_are_no_values_of_a_row(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", "parent_session_id TEXT, loud TEXT AS (upper(id)) STORED"),
        MESSAGES.replace("content TEXT,", "content TEXT, size INTEGER AS (length(content)),"),
        "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)",
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'x', 1)",
    )
    _, records, _ = _read(path)
    assert {"id", "source", "started_at", "parent_session_id"} == set(records["s"][0].data)
    assert ["content", "role", "session_id", "timestamp", "tool_calls", "id"] == list(records["s"][1].data)


def test_columns_without_an_affinity_keep_what_was_put_in(tmp_path: Path) -> None:
    """Numbers in a column of text come back as the numbers they were, also by way of an export."""
    values: list[Any] = [5, 2.5, -0.0, 2**63 - 1, math.inf, b"\0json:[]", "5", None]
    path = _made(
        tmp_path / "a.db",
        "CREATE TABLE sessions (id, source, started_at)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, tool_calls, active, compacted)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1)",
    )
    with closing(sqlite3.connect(path)) as db, db:
        for value in values:
            db.execute("INSERT INTO messages VALUES (NULL, 's', ?, ?, ?, ?, ?)", [value] * 5)
    infos, records, _ = _read(path)
    messages = [record for record in records["s"] if record.kind == "messages"]
    stored = [spelled(row) for row in plain_rows.rows(path, "messages")]
    assert stored == [{name: repr(record.data[name]) for name in row} for row, record in zip(stored, messages, strict=True)]
    for record in messages:
        assert spelled(record.data) == spelled(stored_row("messages", *visible_row(record)))
    assert [(7, 0, 1)] == [(info.messages, info.compacted, info.rewound) for info in infos]


def test_messages_are_counted_as_they_are_taken(tmp_path: Path) -> None:
    """Whatever stands in the two marks: the count of a scan and the state of each row agree."""
    values: list[Any] = [0, 1, 2, -1, 0.0, 0.5, "", "0", "no", b"", b"\0", None]
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, active, compacted)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
    )
    with closing(sqlite3.connect(path)) as db, db:
        pairs = [(one, other) for one in values for other in values]
        db.executemany("INSERT INTO messages VALUES (NULL, 's', 'user', 'x', ?, ?)", pairs)
    (info,), records, _ = _read(path)
    states = Counter(state_of(record.data) for record in records["s"] if record.kind == "messages")
    assert {"live": info.messages, "compacted": info.compacted, "rewound": info.rewound} == states
    assert len(states) == 3


def test_a_table_of_nothing_but_text(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        "CREATE TABLE sessions (id TEXT, source TEXT, started_at TEXT)",
        "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, content TEXT, timestamp TEXT)",
        "INSERT INTO sessions VALUES ('s', 'cli', '2026-01-01')",
        "INSERT INTO messages VALUES ('b', 's', 'user', 'x', 'noon'), ('a', 's', 'user', 'y', 5)",
    )
    infos, records, _ = _read(path)
    assert [(None, None, 2)] == [(info.started_at, info.last_active, info.messages) for info in infos]
    assert ["a", "b"] == [record.key for record in records["s"] if record.kind == "messages"]


def test_a_strict_table(tmp_path: Path) -> None:
    statements = [statement + " STRICT" for statement in (SESSIONS, MESSAGES.replace("content TEXT", "content ANY"))]
    _, records, _ = _read(_made(tmp_path / "a.db", *statements, ONE, "UPDATE messages SET content = 7 WHERE id = 1"))
    assert [7, "Hi."] == [record.data["content"] for record in records["s"] if record.kind == "messages"]


def test_messages_without_a_time(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1.5, NULL)",
        "INSERT INTO messages VALUES (1, 's', 'user', 'x'), (2, 'gone', 'user', 'y')",
    )
    infos, records, _ = _read(path)
    assert [("s", 1.5, False), ("gone", None, True)] == [(info.id, info.last_active, info.damaged) for info in infos]
    assert ["y"] == [record.data["content"] for record in records["gone"]]


def test_times_at_the_edge_of_what_a_number_is(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("timestamp REAL", "timestamp INTEGER"),
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
        "INSERT INTO messages VALUES (1, 's', 'u', 'x', NULL, -9223372036854775808), (2, 's', 'u', 'x', NULL, 1.7e308)",
        "INSERT INTO messages VALUES (3, 's', 'u', 'x', NULL, 9e999), (4, 's', 'u', 'x', NULL, 'late')",
        "INSERT INTO messages VALUES (5, 's', 'u', 'x', NULL, x'ff')",
    )
    infos, _, _ = _read(path)
    assert [(5, 1.7e308)] == [(info.messages, info.last_active) for info in infos]


def test_names_that_need_quoting(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", 'parent_session_id TEXT, "we""ird" TEXT, "order" TEXT, "a.b" TEXT, "ß" TEXT'),
        MESSAGES,
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL, 'w', 'o', 'd', 'z')",
        "INSERT INTO messages VALUES (1, 's', 'user', 'x', NULL, 1)",
        'CREATE TABLE "sel""ect" ("session_id" TEXT, "from" TEXT)',
        """INSERT INTO "sel""ect" VALUES ('s', 'here')""",
    )
    _, records, _ = _read(path)
    assert ("w", "o", "d", "z") == tuple(records["s"][0].data[name] for name in ('we"ird', "order", "a.b", "ß"))
    assert [{"session_id": "'s'", "from": "'here'"}] == _rows(records["s"], 'sel"ect')


def test_tables_that_refer_to_sessions_in_every_way(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "CREATE TABLE by_key (owner TEXT REFERENCES sessions(id), n)",
        "CREATE TABLE by_name (last_session_id TEXT, n)",
        "CREATE TABLE by_both (session_id TEXT REFERENCES sessions(id), other_session_id TEXT, n)",
        "CREATE INDEX by_both_session ON by_both(session_id)",
        "CREATE TABLE by_nothing (session TEXT, n)",
        "CREATE TABLE partly (session_id TEXT, n)",
        "CREATE INDEX partly_session ON partly(session_id) WHERE n > 5",
        "INSERT INTO by_key VALUES ('s', 1), (NULL, 2), ('t', 3)",
        "INSERT INTO by_name VALUES ('s', 1), ('', 2), (CAST(x'ff' AS TEXT), 3)",
        "INSERT INTO by_both VALUES ('s', 's', 1), ('t', 's', 2), ('t', 't', 3)",
        "INSERT INTO by_nothing VALUES ('s', 1)",
        "INSERT INTO partly VALUES ('s', 1), ('s', 9)",
    )
    _, records, problems = _read(path)
    assert [("by_both", 1), ("by_both", 2), ("by_key", 1), ("by_name", 1), ("partly", 1), ("partly", 9)] == [
        (record.kind, record.data["n"]) for record in records["s"] if "n" in record.data
    ]
    assert 0 == sum(problem.lost for problem in problems)


def test_one_bad_row_hides_no_other_of_its_table(tmp_path: Path) -> None:
    """Text that is not UTF-8 in a key column made every row of the table unfindable, without a word."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)",
        "INSERT INTO state_meta VALUES (CAST(x'676f616c3aff' AS TEXT), 'x'), ('goal:s', CAST(x'fe' AS TEXT))",
        "CREATE TABLE gateway_routing (scope TEXT, session_key TEXT, entry_json TEXT, updated_at REAL)",
        "INSERT INTO gateway_routing VALUES ('', 'a', CAST(x'ff' AS TEXT), 1), ('', 'b', '{\"session_id\": \"s\"}', 2)",
        "CREATE TABLE dreams (session_id TEXT, body TEXT)",
        "INSERT INTO dreams VALUES (CAST(x'ff' AS TEXT), 'x'), ('s', 'of a sheep')",
    )
    _, records, _ = _read(path)
    found = [record for record in records["s"] if record.kind not in ("sessions", "messages")]
    assert ["dreams", "gateway_routing", "state_meta"] == [record.kind for record in found]
    assert RawText(b"\xfe") == found[2].data["value"]


def test_ids_that_are_no_text(tmp_path: Path) -> None:
    """SQLite lets a key of text be a BLOB, bytes that are not UTF-8, or NULL; such a session has its messages all the same."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        "INSERT INTO sessions VALUES (x'626c6f62', 'cli', 1, NULL), (CAST(x'636166e9' AS TEXT), 'cli', 2, NULL)",
        "INSERT INTO sessions VALUES (NULL, 'cli', 3, NULL)",
        "INSERT INTO sessions VALUES ('', 'cli', 4, NULL), ('plain', 'cli', 5, CAST(x'636166e9' AS TEXT))",
        "INSERT INTO messages VALUES (1, x'626c6f62', 'user', 'in a blob', NULL, 1)",
        "INSERT INTO messages VALUES (2, CAST(x'636166e9' AS TEXT), 'user', 'in Latin-1', NULL, 1)",
        "INSERT INTO messages VALUES (3, CAST(x'ff' AS TEXT), 'user', 'orphan', NULL, 1), (4, 'plain', 'user', 'x', NULL, 1)",
    )
    dreams = [
        "CREATE TABLE dreams (session_id, body)",
        "INSERT INTO dreams VALUES (x'626c6f62', 'of a sheep'), ('blob', 'of none')",
    ]
    dreams += [
        "CREATE TABLE naps (session_id BLOB PRIMARY KEY)",
        "INSERT INTO naps VALUES (x'626c6f62'), (CAST(x'636166e9' AS TEXT))",
    ]
    with closing(sqlite3.connect(path)) as db:
        db.executescript(";".join(dreams))
    infos, records, problems = _read(path)
    blob, latin, null, orphan = map(public_id, (b"blob", RawText(b"caf\xe9"), None, RawText(b"\xff")))
    assert ["of a sheep"] == [record.data["body"] for record in records[blob] if record.kind == "dreams"]
    assert [1, 1] == [sum(record.kind == "naps" for record in records[name]) for name in (blob, latin)]
    assert [(blob, 1), (latin, 1), (null, 0), ("", 0), ("plain", 1), (orphan, 1)] == [(info.id, info.messages) for info in infos]
    said = {name: [r.data["content"] for r in records[name] if r.kind == "messages"] for name in records}
    assert {blob: ["in a blob"], latin: ["in Latin-1"], null: [], "": [], "plain": ["x"], orphan: ["orphan"]} == said
    assert [b"blob", RawText(b"caf\xe9"), None] == [records[name][0].data["id"] for name in (blob, latin, null)]
    assert latin == infos[4].parent
    assert 0 == sum(problem.lost for problem in problems)


def test_ids_that_read_the_same_are_sessions_of_their_own(tmp_path: Path) -> None:
    """They were told as lost, and where a BLOB stood beside the same text, it was the text whose messages were not read."""
    ids = ["'s'", "x'73'", "CAST(x'ff' AS TEXT)", "CAST(x'fe' AS TEXT)", "x'ff'", "''", "NULL"]
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        *(f"INSERT INTO sessions VALUES ({each}, 'cli', {7 - n}, NULL)" for n, each in enumerate(ids)),
        *(f"INSERT INTO messages VALUES ({n}, {each}, 'user', 'of {n}', NULL, 1)" for n, each in enumerate(ids, 1)),
    )
    infos, records, problems = _read(path)
    assert 7 == len({info.id for info in infos})
    assert ["of 1", "of 6"] == [records[name][-1].data["content"] for name in ("s", "")]
    assert [f"of {n}" for n in range(7, 0, -1)] == [records[info.id][-1].data["content"] for info in infos]
    assert [2] * 7 == [len(found) for found in records.values()]
    assert 0 == sum(problem.lost for problem in problems)
    for info in infos:
        with reader.open(path, listen=ignore) as store:
            assert records[info.id] == list(store.records(info.id)), "without a listing before"


def test_a_text_that_looks_like_the_id_of_another_keeps_its_own(tmp_path: Path) -> None:
    short, long = public_id(b"s"), public_id(b"s", digits=64)
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        f"INSERT INTO sessions VALUES (x'73', 'cli', 1, NULL), ('{short}', 'cli', 2, NULL), ('{long}', 'cli', 3, NULL)",
        f"INSERT INTO messages VALUES (1, x'73', 'user', 'blob', NULL, 1), (2, '{short}', 'user', 'short', NULL, 1)",
    )
    _, records, _ = _read(path)
    assert {f"{long}~": b"s", short: short, long: long} == {name: found[0].data["id"] for name, found in records.items()}
    assert ["blob", "short"] == [records[name][-1].data["content"] for name in (f"{long}~", short)]


def test_the_mark_of_an_id_is_what_the_page_says() -> None:
    from hashlib import sha256

    stored = {"a": b"a", "b": RawText(b"b\xff"), "": None, "7": 7, "2.5": 2.5}
    kinds = {"a": b"blob:a", "b": b"text:b\xff", "": b"null:", "7": b"integer:7", "2.5": b"real:2.5"}
    for text, value in stored.items():
        shown = "b\ufffd" if text == "b" else text
        assert f"{shown}~{sha256(kinds[text]).hexdigest()[:12]}" == public_id(value)


def test_rows_of_one_id_are_one_session_and_the_rest_is_told(tmp_path: Path) -> None:
    """Without a key two rows may have the very same id; a child of such a one stood there once for each."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace(" PRIMARY KEY", ""),
        MESSAGES,
        ONE,
        "INSERT INTO sessions VALUES ('s', 'third', 3, NULL), ('s', 'first', 1, NULL), ('child', 'cli', 4, 's')",
    )
    infos, records, problems = _read(path)
    assert [("s", "first", 2), ("child", "cli", 0)] == [(info.id, info.source, info.messages) for info in infos]
    assert "first" == records["s"][0].data["source"]
    assert [2] == [problem.lost for problem in problems if problem.lost]


def test_records_of_an_odd_id_need_no_listing_before(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, "INSERT INTO sessions VALUES (x'626c6f62', 'cli', 1, NULL)")
    name = public_id(b"blob")
    with reader.open(path, listen=ignore) as store:
        assert ["sessions"] == [record.kind for record in store.records(name)]
    with reader.open(path, listen=ignore) as store:
        assert name == store.session(name).id


def test_text_that_is_not_utf8_does_not_hide_its_session(tmp_path: Path) -> None:
    """Also in the newest message, which opening looks at; one such row made the whole store unreadable."""
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE VIRTUAL TABLE messages_fts USING fts5(content)")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO messages VALUES (3, 's', 'user', CAST(? AS TEXT), NULL, 4.5)", (b"caf\xe9 and more",))
    infos, records, problems = _read(path)
    assert RawText(b"caf\xe9 and more") == records["s"][-1].data["content"]
    assert 3 == infos[0].messages
    assert 1 == sum("not valid UTF-8" in problem.message for problem in problems)


@pytest.mark.parametrize("version", ["99", "'x'", "NULL", "1.5", "x'ff'"])
def test_a_version_of_any_kind_stops_nobody(tmp_path: Path, version: str) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "CREATE TABLE schema_version (v, version)",
        f"INSERT INTO schema_version VALUES (1, {version})",
    )
    infos, _, problems = _read(path)
    assert ["s"] == [info.id for info in infos]
    assert (version == "99") is any("newer than the newest known one" in problem.message for problem in problems)


def test_cycles_and_missing_parents_end(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", "parent_session_id TEXT, end_reason TEXT"),
        MESSAGES,
        "INSERT INTO sessions VALUES ('a', 'cli', 1, 'b', 'compression'), ('b', 'cli', 2, 'a', 'compression')",
        "INSERT INTO sessions VALUES ('c', 'cli', 3, 'c', NULL), ('d', 'cli', 4, 'gone', NULL), ('e', 'cli', 5, x'61', NULL)",
    )
    infos, _, _ = _read(path)
    parents = [("a", "b"), ("b", "a"), ("c", "c"), ("d", "gone"), ("e", public_id(b"a"))]
    assert parents == [(info.id, info.parent) for info in infos]
    assert ["continuation", "continuation", "child", "child", "child"] == [info.lineage for info in infos]


def test_a_search_index_that_does_not_find_is_told(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE VIRTUAL TABLE messages_fts USING fts5(content)")
    _, _, problems = _read(path)
    assert ["its search index does not find what is there (damaged or being rebuilt); sessions are whole"] == [
        problem.message for problem in problems
    ]


def test_a_search_index_of_an_unknown_kind_is_told(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        sql = "CREATE VIRTUAL TABLE messages_fts USING fts5(content, tokenize='cjk_unicode61')"
        db.execute("INSERT INTO sqlite_master VALUES ('table', 'messages_fts', 'messages_fts', 0, ?)", (sql,))
    _, records, problems = _read(path)
    assert 3 == len(records["s"])
    assert any("can't be read" in problem.message for problem in problems)


@pytest.mark.parametrize("table", ["sessions", "messages"])
def test_a_table_whose_definition_is_gone_is_an_error_of_ours(tmp_path: Path, table: str) -> None:
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", ("CREATE TABLE (", table))
    with pytest.raises(StoreError):
        reader.open(path, listen=ignore)


def test_an_object_defined_twice_hides_nothing(tmp_path: Path) -> None:
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE TABLE twice (x)")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'twice'")
    infos, _, problems = _read(path)
    assert [("s", 2)] == [(info.id, info.messages) for info in infos]
    assert any("malformed" in problem.message for problem in problems)


def test_a_column_called_as_the_rowid_is(tmp_path: Path) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "INSERT INTO sessions VALUES ('t', 'cli', 1.5, NULL)",
        "ALTER TABLE messages ADD COLUMN RowId DEFAULT 1",
        "CREATE TABLE dreams (rowid, session_id TEXT, what TEXT)",
        "INSERT INTO dreams VALUES (1, 's', 'one'), (1, 's', 'two'), (1, 't', 'three')",
        "CREATE TABLE naps (rowid, oid, _rowid_, session_id TEXT)",
        "INSERT INTO naps VALUES (1, 1, 1, 's'), (1, 1, 2, 's'), (1, 1, 1, 't')",
    )
    _, records, _ = _read(path)
    assert ["one", "two"] == [r.data["what"] for r in records["s"] if r.kind == "dreams"]
    assert ["three"] == [r.data["what"] for r in records["t"] if r.kind == "dreams"]
    assert [2, 1] == [sum(r.kind == "naps" for r in records[name]) for name in ("s", "t")]
    assert [2, 0] == [sum(r.kind == "messages" for r in records[name]) for name in ("s", "t")]


@pytest.mark.parametrize(("collation", "other"), [("NOCASE", "S"), ("RTRIM", "s ")])
def test_ids_that_only_the_column_takes_for_equal(tmp_path: Path, collation: str, other: str) -> None:
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT", f"session_id TEXT COLLATE {collation}"),
        ONE,
        "CREATE INDEX i ON messages(session_id)",
        f"INSERT INTO sessions VALUES ('{other}', 'cli', 2.5, 's')",
        f"INSERT INTO messages VALUES (3, '{other}', 'user', 'x', NULL, 2.5)",
    )
    infos, records, _ = _read(path)
    assert {"s": 2, other: 1} == {info.id: info.messages for info in infos}
    assert {"s": 2, other: 1} == {i: sum(r.kind == "messages" for r in found) for i, found in records.items()}


@pytest.mark.parametrize("owner", ["x'73'", "NULL"])
def test_messages_whose_id_is_no_text(tmp_path: Path, owner: str) -> None:
    """They are a session of their own."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        ONE,
        f"INSERT INTO messages VALUES (3, {owner}, 'user', 'x', NULL, 2.5)",
    )
    _, records, problems = _read(path)
    assert 3 == sum(record.kind == "messages" for found in records.values() for record in found)
    assert 0 == sum(problem.lost for problem in problems)
    assert 2 == sum(record.kind == "messages" for record in records["s"])


# ---------------------------------------------------------------------------------------------------------- names


def _renamed(path: Path, table: str, old: bytes, new: bytes) -> Path:
    """Give a table or its columns names that no statement can say."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        query = (
            "SELECT rowid, CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master WHERE tbl_name = ?"
        )
        update = (
            "UPDATE sqlite_master SET name = CAST(? AS TEXT), tbl_name = CAST(? AS TEXT), sql = CAST(? AS TEXT) WHERE rowid = ?"
        )
        for row in db.execute(query, (table,)).fetchall():
            db.execute(update, [*(each and each.replace(old, new) for each in row[1:]), row[0]])
    return path


@pytest.mark.parametrize("without", ["", " WITHOUT ROWID"])
def test_names_that_are_not_utf8(tmp_path: Path, without: str) -> None:
    """A table of such a name was left out, and a column of such a name in `messages` made the store unreadable."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", "parent_session_id TEXT, nnn TEXT") + without,
        MESSAGES.replace("tool_calls", "nnn").replace(" AUTOINCREMENT", "") + without,
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL, 'of the session')",
        "INSERT INTO messages VALUES (1, 's', 'user', 'x', 'of the message', 1), (2, 's', 'user', 'y', CAST(x'ff' AS TEXT), 1)",
        f"CREATE TABLE nnn (session_id TEXT, body TEXT, nnn_ TEXT, PRIMARY KEY (session_id, nnn_)){without}",
        "INSERT INTO nnn VALUES ('s', 'raw', 'a'), ('t', 'none', 'b'), ('s', CAST(x'ff' AS TEXT), 'c')",
    )
    for table in ("sessions", "messages", "nnn"):
        _renamed(path, table, b"nnn", b"n\xffn")
    infos, records, problems = _read(path)
    name = next(record.kind for record in records["s"] if record.kind.startswith("n\ufffdn~"))
    rows = [record.data for record in records["s"] if record.kind == name]
    assert ["raw", RawText(b"\xff")] == [row["body"] for row in rows]
    assert ["a", "c"] == [value for row in rows for column, value in row.items() if column.startswith("n\ufffdn_~")]
    assert "of the session" == records["s"][0].data[name]
    assert ["of the message", RawText(b"\xff")] == [r.data[name] for r in records["s"] if r.kind == "messages"]
    assert [("s", 2)] == [(info.id, info.messages) for info in infos]
    assert 0 == sum(problem.lost for problem in problems)


def test_names_in_other_letters_are_the_names(tmp_path: Path) -> None:
    """SQLite takes capitals for small letters in names; what is known comes under its known spelling."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS.replace("sessions (id", "Sessions (ID").replace("started_at", "Started_At"),
        MESSAGES.replace("messages (id", "MESSAGES (Id").replace("content", "Content").replace("tool_calls", "Other"),
        ONE,
        "CREATE TABLE State_Meta (KEY TEXT PRIMARY KEY, Value TEXT)",
        "INSERT INTO state_meta VALUES ('goal:s', 'x')",
        "CREATE TABLE dreams (Owner TEXT REFERENCES SESSIONS(id))",
        "INSERT INTO dreams VALUES ('s')",
        "CREATE TABLE Naps (SESSION_ID TEXT, Body TEXT)",
        "INSERT INTO naps VALUES ('s', 'x')",
    )
    infos, records, _ = _read(path)
    assert [("s", 1.5, 2)] == [(info.id, info.started_at, info.messages) for info in infos]
    assert ["sessions", "Naps", "dreams", "state_meta", "messages", "messages"] == [record.kind for record in records["s"]]
    assert {"id", "source", "started_at", "parent_session_id"} == set(records["s"][0].data)
    assert ["Other", "content", "role", "session_id", "timestamp", "id"] == list(records["s"][-1].data)
    assert [{"SESSION_ID": "s", "Body": "x"}, {"key": "goal:s", "value": "x"}] == [records["s"][at].data for at in (1, 3)]


def test_only_what_is_part_of_a_search_index_is_left_out(tmp_path: Path) -> None:
    """Whatever had `_fts` in its name was."""
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content, session_id)",
        "INSERT INTO messages_fts VALUES ('Hello there', 's')",
        "CREATE TABLE my_fts_notes (session_id TEXT, n)",
        "INSERT INTO my_fts_notes VALUES ('s', 1)",
        "CREATE TABLE messages_fts_trigram_config (session_id TEXT)",
        "INSERT INTO messages_fts_trigram_config VALUES ('s')",
    )
    _, records, _ = _read(path)
    assert ["sessions", "my_fts_notes", "messages", "messages"] == [record.kind for record in records["s"]]


@pytest.mark.parametrize("index", ["", "CREATE INDEX dreams_session ON dreams(session_id)"])
def test_rows_of_the_empty_id_belong_to_the_session_of_that_id(tmp_path: Path, index: str) -> None:
    """Without an index they were passed over."""
    dreams = ["CREATE TABLE dreams (session_id TEXT, n)", "INSERT INTO dreams VALUES ('', 1), ('s', 2), (NULL, 3)", index]
    path = _made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, *dreams)
    with reader.open(path, listen=ignore) as store:
        assert [] == list(store.records("")), "there is no session of this id"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO sessions VALUES ('', 'cli', 1, NULL)")
    _, records, _ = _read(path)
    assert [[1], [2]] == [[r.data["n"] for r in records[name] if r.kind == "dreams"] for name in ("", "s")]


# ---------------------------------------------------------------------------------------------------------- limits of SQLite


@pytest.mark.parametrize("columns", [1005, 1900, 1995])
def test_text_that_is_not_utf8_among_very_many_columns(tmp_path: Path, columns: int) -> None:
    many = ", ".join(f"c{n}" for n in range(columns))
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        f"CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, {many})",
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
        "INSERT INTO messages (id, session_id, content, c3, c999, c1001) VALUES (2, 's', CAST(x'ff' AS TEXT), x'ff', 2.5, '7')",
        "INSERT INTO messages (id, session_id, content, c3, c999, c1001) VALUES (1, 's', 'x', 7, CAST(x'fe' AS TEXT), x'')",
        "INSERT INTO messages (id, session_id, content) VALUES (3, 's', 'y')",
        f"CREATE TABLE dreams (session_id TEXT, {many})",
        "INSERT INTO dreams (session_id, c7) VALUES ('s', CAST(x'ff' AS TEXT))",
        "CREATE INDEX dreams_session ON dreams(session_id)",
    )
    _, records, problems = _read(path)
    messages = [record.data for record in records["s"] if record.kind == "messages"]
    wanted = [(1, "x", 7, RawText(b"\xfe"), b""), (2, RawText(b"\xff"), b"\xff", 2.5, "7"), (3, "y", None, None, None)]
    assert wanted == [tuple(row[name] for name in ("id", "content", "c3", "c999", "c1001")) for row in messages]
    assert {columns + 4} == {len(row) for row in messages}
    assert [RawText(b"\xff")] == [record.data["c7"] for record in records["s"] if record.kind == "dreams"]
    assert 0 == sum(problem.lost for problem in problems)


def test_orders_and_functions_that_only_the_writer_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.create_collation("alien", lambda one, other: (one < other) - (one > other))
        db.create_function("alien", 1, lambda value: 1, deterministic=True)
        db.executescript(
            """CREATE TABLE sessions (id TEXT COLLATE alien PRIMARY KEY, source TEXT, started_at REAL COLLATE alien,
                   parent_session_id TEXT COLLATE alien, odd AS (alien(id)));
               CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT COLLATE alien, role TEXT,
                   content TEXT COLLATE alien, timestamp REAL, odd AS (alien(content)));
               CREATE INDEX one ON messages(session_id, timestamp);
               CREATE INDEX two ON messages(alien(content));
               CREATE INDEX three ON sessions(started_at);
               CREATE INDEX four ON messages(session_id) WHERE alien(role) > 2;
               CREATE TRIGGER five AFTER INSERT ON messages BEGIN SELECT alien(1); END;
               CREATE TABLE dreams (session_id TEXT COLLATE alien, n);
               CREATE INDEX six ON dreams(session_id);
               INSERT INTO sessions VALUES ('s', 'cli', 1, NULL), ('t', 'cli', 2, 's'), ('u', 'cli', 2, 's');
               INSERT INTO messages VALUES (1, 's', 'user', 'x', 1), (2, 't', 'user', 'y', 1), (3, 'gone', 'user', 'z', 1);
               INSERT INTO dreams VALUES ('s', 1), ('t', 2);"""
        )
    infos, records, problems = _read(path)
    assert [("s", 1), ("t", 1), ("u", 0), ("gone", 1)] == [(info.id, info.messages) for info in infos]
    assert ["x", "y", "z"] == [records[name][-1].data["content"] for name in ("s", "t", "gone")]
    assert [1, 2] == [r.data["n"] for name in ("s", "t") for r in records[name] if r.kind == "dreams"]
    assert 0 == sum(problem.lost for problem in problems)


# ---------------------------------------------------------------------------------------------------------- ids of messages


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("kind", ["TEXT", "", "INTEGER", "INTEGER PRIMARY KEY DESC"])
def test_messages_are_in_an_order_that_can_be_made_again(tmp_path: Path, encoding: str, kind: str) -> None:
    """Whatever their ids are: rows of equal ids had the order of the day."""
    ids = (
        [3, 1, 2, None] if "KEY" in kind else [2, "b", None, "10", 9, "b", "\U0001f600", "\uffee", "\u0100", None, 2.5, b"a", "b"]
    )
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        f"CREATE TABLE messages (id {kind}, session_id TEXT, role TEXT, content TEXT, timestamp REAL)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
        encoding=encoding,
    )
    with closing(sqlite3.connect(path)) as db, db:
        for n, each in enumerate(ids):
            db.execute("INSERT INTO messages VALUES (?, 's', 'user', ?, ?)", (each, f"{n % 3}", -float(n // 3)))
    _, records, problems = _read(path)
    messages = [record.data for record in records["s"] if record.kind == "messages"]
    assert len(ids) == len(messages)
    assert messages == sorted(messages, key=message_order)
    assert 0 == sum(problem.lost for problem in problems)


@pytest.mark.parametrize("lineage", ["single", "logical"])
def test_an_export_of_sessions_whose_ids_read_the_same_is_whole(tmp_path: Path, lineage: Literal["single", "logical"]) -> None:
    ids = ["'s'", "x'73'", "CAST(x'ff' AS TEXT)", "x'ff'", "''", "NULL"]
    path = _made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        *(f"INSERT INTO sessions VALUES ({each}, 'cli', {7 - n}, NULL)" for n, each in enumerate(ids)),
        *(f"INSERT INTO messages VALUES ({n}, {each}, 'user', 'of {n}', NULL, 1)" for n, each in enumerate(ids, 1)),
    )
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    outcome = library.convert(path, out, lineage=lineage)
    assert (6, 6, 0) == (outcome.sessions, outcome.messages, outcome.lost)
    assert library.verify(out, content=True).ok
    library.convert(out, again)
    assert out.read_bytes() == again.read_bytes()

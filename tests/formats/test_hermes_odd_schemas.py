"""Databases that no Hermes made, or made long ago and changed by hand: read by name, value for value, or refused in words."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import plain_rows
import pytest
from odd_stores import MESSAGES, ONE, SESSIONS, made, read, rows
from strategies import spelled

from satchel.errors import NotAStore, StoreError
from satchel.events import ignore
from satchel.formats.hermes_info import public_id
from satchel.formats.hermes_rows import state_of, stored_row, visible_row
from satchel.formats.hermes_state import reader
from satchel.jsontext import RawText


def test_the_least_that_is_a_store(tmp_path: Path) -> None:
    infos, records, problems = read(made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE))
    assert [("s", 2, 0, 0, 3.5)] == [(i.id, i.messages, i.compacted, i.rewound, i.last_active) for i in infos]
    assert ["sessions", "messages", "messages"] == [record.kind for record in records["s"]]
    assert ["it has no search index; nothing of a session is missing for that"] == [problem.message for problem in problems]


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_database_in_utf16(tmp_path: Path, encoding: str) -> None:
    texts = ["Hello.", "満潮は？", "👩‍💻", "a\0b", "\ufeff", "", '\0json:["é"]']
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, "INSERT INTO sessions VALUES ('sé', 'cli', 1, NULL)", encoding=encoding)
    with closing(sqlite3.connect(path)) as db, db:
        for text in texts:
            db.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('sé', 'user', ?, 1)", (text,))
    infos, records, _ = read(path)
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
        reader.open(made(tmp_path / "a.db", *statements), listen=ignore)


def test_a_view_beside_the_tables_is_not_looked_at(tmp_path: Path) -> None:
    view = "CREATE VIEW dreams AS SELECT id AS session_id, zeroblob(1000000000) AS body FROM sessions"
    _, records, _ = read(made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, view))
    assert ["sessions", "messages", "messages"] == [record.kind for record in records["s"]]


def test_tables_without_rowids(tmp_path: Path) -> None:
    path = made(
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
    _, records, problems = read(path)
    assert ["sessions", "dreams", "dreams", "dreams", "naps", "messages", "messages"] == [r.kind for r in records["s"]]
    bodies = {repr(record.data["body"]) for record in records["s"] if record.kind == "dreams"}
    assert {"'x'", "None", "RawText(b'\\xfe')"} == bodies
    assert 0 == sum(problem.lost for problem in problems)


def test_generated_columns_are_no_values_of_a_row(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", "parent_session_id TEXT, loud TEXT AS (upper(id)) STORED"),
        MESSAGES.replace("content TEXT,", "content TEXT, size INTEGER AS (length(content)),"),
        "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)",
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'x', 1)",
    )
    _, records, _ = read(path)
    assert {"id", "source", "started_at", "parent_session_id"} == set(records["s"][0].data)
    assert ["content", "role", "session_id", "timestamp", "tool_calls", "id"] == list(records["s"][1].data)


def test_columns_without_an_affinity_keep_what_was_put_in(tmp_path: Path) -> None:
    """Numbers in a column of text come back as the numbers they were, also by way of an export."""
    values: list[Any] = [5, 2.5, -0.0, 2**63 - 1, math.inf, b"\0json:[]", "5", None]
    path = made(
        tmp_path / "a.db",
        "CREATE TABLE sessions (id, source, started_at)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, tool_calls, active, compacted)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1)",
    )
    with closing(sqlite3.connect(path)) as db, db:
        for value in values:
            db.execute("INSERT INTO messages VALUES (NULL, 's', ?, ?, ?, ?, ?)", [value] * 5)
    infos, records, _ = read(path)
    messages = [record for record in records["s"] if record.kind == "messages"]
    stored = [spelled(row) for row in plain_rows.rows(path, "messages")]
    assert stored == [{name: repr(record.data[name]) for name in row} for row, record in zip(stored, messages, strict=True)]
    for record in messages:
        assert spelled(record.data) == spelled(stored_row("messages", *visible_row(record)))
    assert [(7, 0, 1)] == [(info.messages, info.compacted, info.rewound) for info in infos]


def test_messages_are_counted_as_they_are_taken(tmp_path: Path) -> None:
    """Whatever stands in the two marks: the count of a scan and the state of each row agree."""
    values: list[Any] = [0, 1, 2, -1, 0.0, 0.5, "", "0", "no", b"", b"\0", None]
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, active, compacted)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
    )
    with closing(sqlite3.connect(path)) as db, db:
        pairs = [(one, other) for one in values for other in values]
        db.executemany("INSERT INTO messages VALUES (NULL, 's', 'user', 'x', ?, ?)", pairs)
    (info,), records, _ = read(path)
    states = Counter(state_of(record.data) for record in records["s"] if record.kind == "messages")
    assert {"live": info.messages, "compacted": info.compacted, "rewound": info.rewound} == states
    assert len(states) == 3


def test_a_table_of_nothing_but_text(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        "CREATE TABLE sessions (id TEXT, source TEXT, started_at TEXT)",
        "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, content TEXT, timestamp TEXT)",
        "INSERT INTO sessions VALUES ('s', 'cli', '2026-01-01')",
        "INSERT INTO messages VALUES ('b', 's', 'user', 'x', 'noon'), ('a', 's', 'user', 'y', 5)",
    )
    infos, records, _ = read(path)
    assert [(None, None, 2)] == [(info.started_at, info.last_active, info.messages) for info in infos]
    assert ["a", "b"] == [record.key for record in records["s"] if record.kind == "messages"]


def test_a_strict_table(tmp_path: Path) -> None:
    statements = [statement + " STRICT" for statement in (SESSIONS, MESSAGES.replace("content TEXT", "content ANY"))]
    _, records, _ = read(made(tmp_path / "a.db", *statements, ONE, "UPDATE messages SET content = 7 WHERE id = 1"))
    assert [7, "Hi."] == [record.data["content"] for record in records["s"] if record.kind == "messages"]


def test_messages_without_a_time(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1.5, NULL)",
        "INSERT INTO messages VALUES (1, 's', 'user', 'x'), (2, 'gone', 'user', 'y')",
    )
    infos, records, _ = read(path)
    assert [("s", 1.5, False), ("gone", None, True)] == [(info.id, info.last_active, info.damaged) for info in infos]
    assert ["y"] == [record.data["content"] for record in records["gone"]]


def test_times_at_the_edge_of_what_a_number_is(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("timestamp REAL", "timestamp INTEGER"),
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
        "INSERT INTO messages VALUES (1, 's', 'u', 'x', NULL, -9223372036854775808), (2, 's', 'u', 'x', NULL, 1.7e308)",
        "INSERT INTO messages VALUES (3, 's', 'u', 'x', NULL, 9e999), (4, 's', 'u', 'x', NULL, 'late')",
        "INSERT INTO messages VALUES (5, 's', 'u', 'x', NULL, x'ff')",
    )
    infos, _, _ = read(path)
    assert [(5, 1.7e308)] == [(info.messages, info.last_active) for info in infos]


def test_names_that_need_quoting(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", 'parent_session_id TEXT, "we""ird" TEXT, "order" TEXT, "a.b" TEXT, "ß" TEXT'),
        MESSAGES,
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL, 'w', 'o', 'd', 'z')",
        "INSERT INTO messages VALUES (1, 's', 'user', 'x', NULL, 1)",
        'CREATE TABLE "sel""ect" ("session_id" TEXT, "from" TEXT)',
        """INSERT INTO "sel""ect" VALUES ('s', 'here')""",
    )
    _, records, _ = read(path)
    assert ("w", "o", "d", "z") == tuple(records["s"][0].data[name] for name in ('we"ird', "order", "a.b", "ß"))
    assert [{"session_id": "'s'", "from": "'here'"}] == rows(records["s"], 'sel"ect')


def test_tables_that_refer_to_sessions_in_every_way(tmp_path: Path) -> None:
    path = made(
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
    _, records, problems = read(path)
    assert [("by_both", 1), ("by_both", 2), ("by_key", 1), ("by_name", 1), ("partly", 1), ("partly", 9)] == [
        (record.kind, record.data["n"]) for record in records["s"] if "n" in record.data
    ]
    assert 0 == sum(problem.lost for problem in problems)


def test_one_bad_row_hides_no_other_of_its_table(tmp_path: Path) -> None:
    """Text that is not UTF-8 in a key column made every row of the table unfindable, without a word."""
    path = made(
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
    _, records, _ = read(path)
    found = [record for record in records["s"] if record.kind not in ("sessions", "messages")]
    assert ["dreams", "gateway_routing", "state_meta"] == [record.kind for record in found]
    assert RawText(b"\xfe") == found[2].data["value"]


def test_text_that_is_not_utf8_does_not_hide_its_session(tmp_path: Path) -> None:
    """Also in the newest message, which opening looks at; one such row made the whole store unreadable."""
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE VIRTUAL TABLE messages_fts USING fts5(content)")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO messages VALUES (3, 's', 'user', CAST(? AS TEXT), NULL, 4.5)", (b"caf\xe9 and more",))
    infos, records, problems = read(path)
    assert RawText(b"caf\xe9 and more") == records["s"][-1].data["content"]
    assert 3 == infos[0].messages
    assert 1 == sum("not valid UTF-8" in problem.message for problem in problems)


@pytest.mark.parametrize("version", ["99", "'x'", "NULL", "1.5", "x'ff'"])
def test_a_version_of_any_kind_stops_nobody(tmp_path: Path, version: str) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        ONE,
        "CREATE TABLE schema_version (v, version)",
        f"INSERT INTO schema_version VALUES (1, {version})",
    )
    infos, _, problems = read(path)
    assert ["s"] == [info.id for info in infos]
    assert (version == "99") is any("newer than the newest known one" in problem.message for problem in problems)


def test_cycles_and_missing_parents_end(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS.replace("parent_session_id TEXT", "parent_session_id TEXT, end_reason TEXT"),
        MESSAGES,
        "INSERT INTO sessions VALUES ('a', 'cli', 1, 'b', 'compression'), ('b', 'cli', 2, 'a', 'compression')",
        "INSERT INTO sessions VALUES ('c', 'cli', 3, 'c', NULL), ('d', 'cli', 4, 'gone', NULL), ('e', 'cli', 5, x'61', NULL)",
    )
    infos, _, _ = read(path)
    parents = [("a", "b"), ("b", "a"), ("c", "c"), ("d", "gone"), ("e", public_id(b"a"))]
    assert parents == [(info.id, info.parent) for info in infos]
    assert ["continuation", "continuation", "child", "child", "child"] == [info.lineage for info in infos]


def test_a_search_index_that_does_not_find_is_told(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE VIRTUAL TABLE messages_fts USING fts5(content)")
    _, _, problems = read(path)
    assert ["its search index does not find what is there (damaged or being rebuilt); sessions are whole"] == [
        problem.message for problem in problems
    ]


def test_a_search_index_of_an_unknown_kind_is_told(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        sql = "CREATE VIRTUAL TABLE messages_fts USING fts5(content, tokenize='cjk_unicode61')"
        db.execute("INSERT INTO sqlite_master VALUES ('table', 'messages_fts', 'messages_fts', 0, ?)", (sql,))
    _, records, problems = read(path)
    assert 3 == len(records["s"])
    assert any("can't be read" in problem.message for problem in problems)


@pytest.mark.parametrize("table", ["sessions", "messages"])
def test_a_table_whose_definition_is_gone_is_an_error_of_ours(tmp_path: Path, table: str) -> None:
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", ("CREATE TABLE (", table))
    with pytest.raises(StoreError):
        reader.open(path, listen=ignore)


def test_an_object_defined_twice_hides_nothing(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, "CREATE TABLE twice (x)")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'twice'")
    infos, _, problems = read(path)
    assert [("s", 2)] == [(info.id, info.messages) for info in infos]
    assert any("malformed" in problem.message for problem in problems)


def test_a_column_called_as_the_rowid_is(tmp_path: Path) -> None:
    path = made(
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
    _, records, _ = read(path)
    assert ["one", "two"] == [r.data["what"] for r in records["s"] if r.kind == "dreams"]
    assert ["three"] == [r.data["what"] for r in records["t"] if r.kind == "dreams"]
    assert [2, 1] == [sum(r.kind == "naps" for r in records[name]) for name in ("s", "t")]
    assert [2, 0] == [sum(r.kind == "messages" for r in records[name]) for name in ("s", "t")]


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
    path = made(
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
    infos, records, problems = read(path)
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
    path = made(
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
    infos, records, _ = read(path)
    assert [("s", 1.5, 2)] == [(info.id, info.started_at, info.messages) for info in infos]
    assert ["sessions", "Naps", "dreams", "state_meta", "messages", "messages"] == [record.kind for record in records["s"]]
    assert {"id", "source", "started_at", "parent_session_id"} == set(records["s"][0].data)
    assert ["Other", "content", "role", "session_id", "timestamp", "id"] == list(records["s"][-1].data)
    assert [{"SESSION_ID": "s", "Body": "x"}, {"key": "goal:s", "value": "x"}] == [records["s"][at].data for at in (1, 3)]


def test_only_what_is_part_of_a_search_index_is_left_out(tmp_path: Path) -> None:
    """Whatever had `_fts` in its name was."""
    path = made(
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
    _, records, _ = read(path)
    assert ["sessions", "my_fts_notes", "messages", "messages"] == [record.kind for record in records["s"]]


# ---------------------------------------------------------------------------------------------------------- limits of SQLite


@pytest.mark.parametrize("columns", [1005, 1900, 1995])
def test_text_that_is_not_utf8_among_very_many_columns(tmp_path: Path, columns: int) -> None:
    many = ", ".join(f"c{n}" for n in range(columns))
    path = made(
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
    _, records, problems = read(path)
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
    infos, records, problems = read(path)
    assert [("s", 1), ("t", 1), ("u", 0), ("gone", 1)] == [(info.id, info.messages) for info in infos]
    assert ["x", "y", "z"] == [records[name][-1].data["content"] for name in ("s", "t", "gone")]
    assert [1, 2] == [r.data["n"] for name in ("s", "t") for r in records[name] if r.kind == "dreams"]
    assert 0 == sum(problem.lost for problem in problems)

"""Ids of any type: each session keeps its own, each row its owner, and messages an order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest
from odd_stores import MESSAGES, ONE, SESSIONS, made, read

from satchel import library
from satchel.events import ignore
from satchel.formats.hermes_info import message_order, public_id
from satchel.formats.hermes_state import reader
from satchel.jsontext import RawText


def test_ids_that_are_no_text(tmp_path: Path) -> None:
    """SQLite lets a key of text be a BLOB, bytes that are not UTF-8, or NULL; such a session has its messages all the same."""
    path = made(
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
    infos, records, problems = read(path)
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
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        *(f"INSERT INTO sessions VALUES ({each}, 'cli', {7 - n}, NULL)" for n, each in enumerate(ids)),
        *(f"INSERT INTO messages VALUES ({n}, {each}, 'user', 'of {n}', NULL, 1)" for n, each in enumerate(ids, 1)),
    )
    infos, records, problems = read(path)
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
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES,
        f"INSERT INTO sessions VALUES (x'73', 'cli', 1, NULL), ('{short}', 'cli', 2, NULL), ('{long}', 'cli', 3, NULL)",
        f"INSERT INTO messages VALUES (1, x'73', 'user', 'blob', NULL, 1), (2, '{short}', 'user', 'short', NULL, 1)",
    )
    _, records, _ = read(path)
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
    path = made(
        tmp_path / "a.db",
        SESSIONS.replace(" PRIMARY KEY", ""),
        MESSAGES,
        ONE,
        "INSERT INTO sessions VALUES ('s', 'third', 3, NULL), ('s', 'first', 1, NULL), ('child', 'cli', 4, 's')",
    )
    infos, records, problems = read(path)
    assert [("s", "first", 2), ("child", "cli", 0)] == [(info.id, info.source, info.messages) for info in infos]
    assert "first" == records["s"][0].data["source"]
    assert [2] == [problem.lost for problem in problems if problem.lost]


def test_records_of_an_odd_id_need_no_listing_before(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, "INSERT INTO sessions VALUES (x'626c6f62', 'cli', 1, NULL)")
    name = public_id(b"blob")
    with reader.open(path, listen=ignore) as store:
        assert ["sessions"] == [record.kind for record in store.records(name)]
    with reader.open(path, listen=ignore) as store:
        assert name == store.session(name).id


@pytest.mark.parametrize(("collation", "other"), [("NOCASE", "S"), ("RTRIM", "s ")])
def test_ids_that_only_the_column_takes_for_equal(tmp_path: Path, collation: str, other: str) -> None:
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT", f"session_id TEXT COLLATE {collation}"),
        ONE,
        "CREATE INDEX i ON messages(session_id)",
        f"INSERT INTO sessions VALUES ('{other}', 'cli', 2.5, 's')",
        f"INSERT INTO messages VALUES (3, '{other}', 'user', 'x', NULL, 2.5)",
    )
    infos, records, _ = read(path)
    assert {"s": 2, other: 1} == {info.id: info.messages for info in infos}
    assert {"s": 2, other: 1} == {i: sum(r.kind == "messages" for r in found) for i, found in records.items()}


@pytest.mark.parametrize("owner", ["x'73'", "NULL"])
def test_messages_whose_id_is_no_text(tmp_path: Path, owner: str) -> None:
    """They are a session of their own."""
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        MESSAGES.replace("session_id TEXT NOT NULL", "session_id TEXT"),
        ONE,
        f"INSERT INTO messages VALUES (3, {owner}, 'user', 'x', NULL, 2.5)",
    )
    _, records, problems = read(path)
    assert 3 == sum(record.kind == "messages" for found in records.values() for record in found)
    assert 0 == sum(problem.lost for problem in problems)
    assert 2 == sum(record.kind == "messages" for record in records["s"])


@pytest.mark.parametrize("index", ["", "CREATE INDEX dreams_session ON dreams(session_id)"])
def test_rows_of_the_empty_id_belong_to_the_session_of_that_id(tmp_path: Path, index: str) -> None:
    """Without an index they were passed over."""
    dreams = ["CREATE TABLE dreams (session_id TEXT, n)", "INSERT INTO dreams VALUES ('', 1), ('s', 2), (NULL, 3)", index]
    path = made(tmp_path / "a.db", SESSIONS, MESSAGES, ONE, *dreams)
    with reader.open(path, listen=ignore) as store:
        assert [] == list(store.records("")), "there is no session of this id"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO sessions VALUES ('', 'cli', 1, NULL)")
    _, records, _ = read(path)
    assert [[1], [2]] == [[r.data["n"] for r in records[name] if r.kind == "dreams"] for name in ("", "s")]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("kind", ["TEXT", "", "INTEGER", "INTEGER PRIMARY KEY DESC"])
def test_messages_are_in_an_order_that_can_be_made_again(tmp_path: Path, encoding: str, kind: str) -> None:
    """Whatever their ids are: rows of equal ids had the order of the day."""
    ids = (
        [3, 1, 2, None] if "KEY" in kind else [2, "b", None, "10", 9, "b", "\U0001f600", "\uffee", "\u0100", None, 2.5, b"a", "b"]
    )
    path = made(
        tmp_path / "a.db",
        SESSIONS,
        f"CREATE TABLE messages (id {kind}, session_id TEXT, role TEXT, content TEXT, timestamp REAL)",
        "INSERT INTO sessions VALUES ('s', 'cli', 1, NULL)",
        encoding=encoding,
    )
    with closing(sqlite3.connect(path)) as db, db:
        for n, each in enumerate(ids):
            db.execute("INSERT INTO messages VALUES (?, 's', 'user', ?, ?)", (each, f"{n % 3}", -float(n // 3)))
    _, records, problems = read(path)
    messages = [record.data for record in records["s"] if record.kind == "messages"]
    assert len(ids) == len(messages)
    assert messages == sorted(messages, key=message_order)
    assert 0 == sum(problem.lost for problem in problems)


@pytest.mark.parametrize("lineage", ["single", "logical"])
def test_an_export_of_sessions_whose_ids_read_the_same_is_whole(tmp_path: Path, lineage: Literal["single", "logical"]) -> None:
    ids = ["'s'", "x'73'", "CAST(x'ff' AS TEXT)", "x'ff'", "''", "NULL"]
    path = made(
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

"""Databases made by hand, statement by statement, and what is read of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from strategies import spelled

from satchel.contracts import Record, SessionInfo
from satchel.events import Event, Problem
from satchel.formats.hermes_state import reader

__all__ = ["MESSAGES", "ONE", "SESSIONS", "made", "read", "rows"]

SESSIONS = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, parent_session_id TEXT)"
MESSAGES = """CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT, tool_calls TEXT, timestamp REAL NOT NULL)"""
ONE = """INSERT INTO sessions VALUES ('s', 'cli', 1.5, NULL);
    INSERT INTO messages VALUES (1, 's', 'user', 'Hello there', NULL, 2.5), (2, 's', 'assistant', 'Hi.', NULL, 3.5);"""


def made(path: Path, *statements: str, encoding: str = "UTF-8") -> Path:
    """Make a database of these statements."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.executescript(";\n".join(statements))
    return path


def read(path: Path) -> tuple[list[SessionInfo], dict[str, list[Record]], list[Problem]]:
    """Read all of a store: its sessions, their records by id, and the problems that were told."""
    heard: list[Event] = []
    with reader.open(path, listen=heard.append) as store:
        infos = list(store.sessions())
        for info in infos:
            assert info == store.session(info.id)
        records = {info.id: list(store.records(info.id)) for info in infos}
        store.check()
    return infos, records, [event for event in heard if isinstance(event, Problem)]


def rows(records: list[Record], kind: str) -> list[dict[str, str]]:
    """Return the rows of one table among records, to compare."""
    return [spelled(record.data) for record in records if record.kind == kind]

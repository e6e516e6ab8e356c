"""A second way to read a store, by the standard library and without any cleverness, to compare the first one with."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from satchel.jsontext import RawText

__all__ = ["of_session", "rows", "session_ids", "tables"]

Row = dict[str, Any]


def tables(path: Path) -> list[str]:
    """Return the names of the ordinary tables."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for name, sql in found if not name.startswith("sqlite_") and "VIRTUAL" not in sql]


def rows(path: Path, table: str) -> list[Row]:
    """Return the rows of a table by rowid, value by value as stored; text that is not UTF-8 as RawText."""
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        names = [row[1].decode() for row in db.execute(f'PRAGMA table_info("{table}")')]
        columns: list[list[Any]] = []
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            # In the table's own order: an index would give another one for some columns.
            query = f'SELECT typeof({quoted}), {quoted} FROM "{table}" NOT INDEXED'
            columns.append([_value(kind, value) for kind, value in db.execute(query)])
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _value(kind: bytes, value: Any) -> Any:
    if kind != b"text":
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return RawText(value)


def session_ids(path: Path) -> list[str]:
    """Return the ids of all sessions that have a row or messages."""
    ids = [row["id"] for row in rows(path, "sessions")]
    return ids + sorted({row["session_id"] for row in rows(path, "messages")} - set(ids))


def of_session(path: Path, session_id: str, everything: dict[str, list[Row]]) -> list[tuple[str, Row]]:
    """Return what belongs to a session, of the rows of all tables by name: table and row; messages in order, after all others."""
    found: list[tuple[str, Row]] = []
    own = next((row for row in everything["sessions"] if row["id"] == session_id), {})
    if own:
        found.append(("sessions", own))
    for name in sorted(everything):
        if name not in ("sessions", "messages", "schema_version") and "_fts" not in name:
            found += [(name, row) for row in everything[name] if _belongs(name, row, session_id, own)]
    mine = [row for row in everything["messages"] if row["session_id"] == session_id]
    return found + [("messages", row) for row in sorted(mine, key=lambda row: int(row["id"]))]


def _belongs(name: str, row: Row, session_id: str, own: Row) -> bool:
    if name == "state_meta":
        return isinstance(row["key"], str) and row["key"].endswith(f":{session_id}")
    if name == "system_prompts":
        return own.get("system_prompt_hash") is not None and row["hash"] == own["system_prompt_hash"]
    if name == "gateway_routing":
        try:
            return bool(json.loads(row["entry_json"])["session_id"] == session_id)
        except (ValueError, KeyError, TypeError):
            return False
    names = [c for c in row if c in ("session_id", "origin_session") or c.endswith("_session_id")]
    return any(row[column] == session_id for column in names)

"""
How a Hermes store is: its pages, its links, its search index, and what of it is not yet in the database file.

Everything here only reads, through a connection that is open already. What can't be told is None, never an exception.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote as percent

import apsw

from satchel.formats.hermes_rows import number
from satchel.formats.regular import open_regular

__all__ = ["Header", "Search", "WalOnly", "damage", "free_bytes", "header", "links", "marks", "search", "wal_only"]

_SHOWN = 20
_OPERATIONS = 50_000


class Header(NamedTuple):
    """
    What the first bytes of the file say; sizes in bytes.

    Attributes:
        size: How large the file is.
        said: How large it says it is; more than it is where it was cut short.
        wal: Whether changes go through a WAL.
    """

    size: int
    said: int
    wal: bool


class Search(NamedTuple):
    """The search index: its tables and triggers, and whether Hermes has marked it as stale or is rebuilding it."""

    tables: tuple[str, ...]
    triggers: int
    stale: bool
    rebuilding: bool


class WalOnly(NamedTuple):
    """What a copy of the database file alone would lack: ids of sessions, and how many messages."""

    sessions: tuple[str, ...]
    messages: int


Answer = TypeVar("Answer")


def _asked(question: Callable[[], Answer]) -> Answer | None:
    """Return the answer, or None where the store is too broken, too old or too strange for the question."""
    try:
        return question()
    except (apsw.Error, UnicodeDecodeError, OSError, struct.error, TypeError):
        return None


def _rows(connection: apsw.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def header(path: Path) -> Header | None:
    """
    Return what the database file's header says.

    It is for use before the store is opened: closing a file drops every lock that the process holds on it, SQLite's too.
    """

    def look() -> Header:
        with open_regular(path) as file:
            head = file.read(100) or b""
            size = file.seek(0, 2)
        (page,) = struct.unpack(">H", head[16:18])
        changes, count, valid_for = (struct.unpack(">I", head[at : at + 4])[0] for at in (24, 28, 92))
        said = count * (65536 if page == 1 else page)
        return Header(size, said if changes == valid_for else size, head[18] == 2)

    return _asked(look)


def free_bytes(connection: apsw.Connection) -> int | None:
    """Return how many bytes are in pages that hold nothing: what VACUUM would give back, at least."""
    return _asked(lambda: int(connection.pragma("freelist_count")) * int(connection.pragma("page_size")))


def damage(connection: apsw.Connection, tables: Sequence[str]) -> list[str]:
    """
    Return what SQLite finds broken in the pages of the tables, a line each; [] when all is well.

    Every page of them is read, at the speed of the disk. Search tables are the caller's to leave out: they hold no session.
    """
    found: list[str] = []
    # It may take minutes: this lets Ctrl-C through.
    connection.set_progress_handler(lambda: False, _OPERATIONS)
    for table in tables:
        try:
            lines = [str(row[0]) for row in connection.execute('PRAGMA quick_check("' + table.replace('"', '""') + '")')]
        except (apsw.CorruptError, apsw.IOError, apsw.NotADBError) as error:
            lines = [str(error)]
        except apsw.Error:
            continue
        for text in lines:
            # Values of an odd type, or NULL where none should be, are read like any others.
            found += [f"{table}: {line}" for line in text.split("\n") if _is_broken(line)]
    connection.set_progress_handler(None)
    return found[:_SHOWN]


def _is_broken(line: str) -> bool:
    return line != "ok" and not line.startswith("***") and " value in " not in line and "constraint failed" not in line


def links(connection: apsw.Connection) -> tuple[int, int, int] | None:
    """Return how many messages have no session's row, of how many sessions, and how many parents are not there."""

    def look() -> tuple[int, int, int]:
        query = (
            "SELECT count(*), count(DISTINCT session_id COLLATE BINARY) FROM messages WHERE session_id COLLATE BINARY IN "
            "(SELECT session_id COLLATE BINARY FROM messages EXCEPT SELECT id FROM sessions)"
        )
        messages, sessions = _rows(connection, query)[0]
        columns = {row[1] for row in _rows(connection, "PRAGMA table_info(sessions)")}
        parents = 0
        if "parent_session_id" in columns:
            query = (
                "SELECT count(DISTINCT parent_session_id COLLATE BINARY) FROM sessions "
                "WHERE parent_session_id COLLATE BINARY NOT IN (SELECT id FROM sessions)"
            )
            parents = int(_rows(connection, query)[0][0])
        return int(messages), int(sessions), parents

    return _asked(look)


def search(connection: apsw.Connection) -> Search | None:
    """Return what there is of the search index."""

    def look() -> Search:
        rows = _rows(connection, "SELECT type, name, sql FROM sqlite_schema WHERE name LIKE 'messages_fts%'")
        tables = sorted({name for kind, name, sql in rows if kind == "table" and str(sql).upper().startswith("CREATE VIRTUAL")})
        known = marks(connection)
        progress, high_water = (_figure(known.get(key)) for key in ("fts_rebuild_progress", "fts_rebuild_high_water"))
        rebuilding = high_water is not None and (progress is None or progress < high_water)
        stale = any(known.get(key) not in (None, "", "0") for key in ("fts_stale", "fts_cjk_stale"))
        return Search(tuple(tables), sum(kind == "trigger" for kind, _, _ in rows), stale, rebuilding)

    return _asked(look)


def marks(connection: apsw.Connection) -> dict[str, str]:
    """Return what Hermes has noted in `state_meta` about the store as a whole, by key; goals of sessions are left out."""

    def look() -> dict[str, str]:
        query = "SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM state_meta WHERE instr(key, ':') = 0 LIMIT 200"
        rows = _rows(connection, query)
        return {key.decode("utf-8", "replace"): (value or b"").decode("utf-8", "replace") for key, value in rows if key}

    return _asked(look) or {}


def _figure(text: str | None) -> float | None:
    try:
        return None if text is None else number(float(text))
    except ValueError:
        return None


def wal_only(connection: apsw.Connection, path: Path) -> WalOnly | None:
    """
    Return what is in the snapshot of `connection` and not in the database file at `path` itself.

    The file is read as it lies, without its WAL and without a lock; while its writer is at work that may not give an answer.
    """

    def look() -> WalOnly:
        alone = apsw.Connection(
            f"file:{percent(os.fsencode(path))}?immutable=1", flags=apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY
        )
        try:
            ids = "SELECT CAST(id AS BLOB) FROM sessions"
            total = "SELECT count(*) FROM messages"
            new = {row[0] for row in _rows(connection, ids)} - {row[0] for row in _rows(alone, ids)}
            messages = int(_rows(connection, total)[0][0]) - int(_rows(alone, total)[0][0])
        finally:
            alone.close()
        return WalOnly(tuple(sorted(each.decode("utf-8", "replace") for each in new if each)), max(0, messages))

    try:
        return look()
    except apsw.SQLError:
        # The file alone has no tables yet: all of it is in the WAL.
        def everything() -> WalOnly:
            ids = [str(row[0]) for row in _rows(connection, "SELECT id FROM sessions ORDER BY id")]
            return WalOnly(tuple(ids), int(_rows(connection, "SELECT count(*) FROM messages")[0][0]))

        return _asked(everything)
    except (apsw.Error, UnicodeDecodeError, OSError, TypeError):
        return None

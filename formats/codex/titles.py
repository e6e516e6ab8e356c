"""
What Codex' own lists say of its sessions: their names, and which thread called which.

They are made from the rollouts and may be behind them; a rollout's own word goes before theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satchel.errors import SatchelError, StoreError
from satchel.formats.codex.shapes import text_of
from satchel.formats.log_lines import LogFile

__all__ = ["Titles", "read"]

Tell = Callable[[str, str], None]


@dataclass(slots=True)
class Titles:
    """By thread: the name a person gave it, the title Codex gave it, the thread that called it."""

    names: dict[str, str | None] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)


def read(index: Path | None, states: list[Path], *, tell: Tell) -> Titles:
    """Read the index and the databases; what can't be read is told and costs no more than the titles in it."""
    titles = Titles()
    # The newest one is read last, so that its word counts.
    for path in reversed(states):
        try:
            _database(path, titles)
        except SatchelError as error:
            tell(str(path), f"titles are not read from it: {error.message}")
    if index is not None:
        _index(index, titles, tell)
    return titles


def _index(path: Path, titles: Titles, tell: Tell) -> None:
    def report(number: int, what: str, lost: int) -> None:
        tell(f"{path}:{number}", f"this line {what}" if lost else what)

    try:
        records = LogFile(path).records(report=report)
    except StoreError as error:
        tell(str(path), error.message)
        return
    for record in records:
        data = record.data
        if isinstance(data, dict) and (id := text_of(data.get("id"))) is not None and "thread_name" in data:
            name = data["thread_name"]
            # A blank name takes the one before it back.
            titles.names[id] = name.strip() or None if isinstance(name, str) else None


def _database(path: Path, titles: Titles) -> None:
    import apsw

    from satchel.formats.hermes_state.snapshot import open_snapshot

    snapshot = open_snapshot(path)
    try:
        connection = snapshot.connection
        # A damaged one would only seem to have no tables.
        connection.execute("SELECT name FROM sqlite_master").fetchall()
        for row in _rows(connection, "threads", ("id", "name", "title")):
            id = text_of(row["id"])
            if id is None:
                continue
            if (name := text_of(row.get("name"))) is not None:
                titles.names[id] = name
            if (title := text_of(row.get("title"))) is not None:
                titles.titles[id] = title
        for row in _rows(connection, "thread_spawn_edges", ("child_thread_id", "parent_thread_id")):
            child, parent = text_of(row["child_thread_id"]), text_of(row.get("parent_thread_id"))
            if child is not None and parent is not None:
                titles.parents[child] = parent
    except apsw.Error as error:
        raise StoreError(f"{path} is damaged ({error})", subject=path) from error
    finally:
        snapshot.close()


def _rows(connection: Any, table: str, wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of a table with those of the columns that it has; none where the first one is missing."""
    there = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
    columns = [column for column in wanted if column in there]
    if wanted[0] not in columns:
        return []
    found = connection.execute(f"SELECT {', '.join(columns)} FROM {table}")
    return [dict(zip(columns, row, strict=True)) for row in found]

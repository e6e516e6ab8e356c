"""
Reads what can still be read of a store with damaged pages: row by row, by way of whatever index or page is whole.

Only a query that met damage comes here, so it may take its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw

from satchel.formats.hermes_state.rows import DAMAGE, Rows, equals

__all__ = ["Salvage"]

_Gap = tuple[int, int | None]
_KEY_INDEX = "sqlite_autoindex_sessions_1"


class Salvage:
    """Looks for rows in damaged tables; `report(where, message, lost)` hears of those that are lost."""

    def __init__(self, rows: Rows, label: str, report: Callable[[str, str, int], None], public: Callable[[Any], str]) -> None:
        self._rows = rows
        self._public = public
        self._label = label
        self._report = report
        self._indexed = True
        self._messages: dict[Any, list[int]] | None = None
        # Messages that were told to be lost, one by one, and as rows between others.
        self._lost: set[int] = set()
        self._gaps: list[range] = []
        self._sessions: dict[Any, int] | None = None

    def without_indexes(self) -> None:
        """Look for messages in their table alone: an index does not list them all."""
        self._indexed = False

    def sessions(self, columns: Sequence[str], known: set[str]) -> Iterator[Any]:
        """
        Yield what is left of the table of sessions: rows as tuples, then the bare ids that only an index still knows, as stored.

        `known` is asked for ids that were met already; whoever takes the rows adds theirs.
        """
        gaps: list[_Gap] = []
        for rowid in self._rows.rowids("sessions", gap=lambda first, following: gaps.append((first, following))):
            row = self._rows.salvage("sessions", columns, rowid, where=f"{self._label}: sessions row {rowid}")
            if row is not None:
                yield row
        bare = 0
        for session_id in self._known_ids():
            if self._public(session_id) not in known:
                bare += 1
                self._report(f"{self._label}: session {self._public(session_id)}", "its row is on a damaged page", 1)
                yield session_id
        if gaps and not bare:
            self._report(f"{self._label}: sessions", f"{_say(gaps)} could not be read: their pages are damaged", len(gaps))

    def _known_ids(self) -> Iterator[Any]:
        """Yield the ids that the index of the table's key has, and those that messages name, some more than once."""
        with suppress(apsw.Error):  # Another table layout has no such index.
            for (session_id,) in self._rows.select(("id",), f"FROM sessions INDEXED BY {_KEY_INDEX}", where=self._label):
                if session_id is not None:
                    yield session_id
        try:
            owners = [
                row[0] for row in self._rows.select(("DISTINCT session_id COLLATE BINARY",), "FROM messages", where=self._label)
            ]
        except (*DAMAGE, apsw.SQLError):
            owners = self.owners()
        yield from (owner for owner in owners if owner is not None)

    def session(self, stored: Any, columns: Sequence[str], where: str) -> tuple[Any, ...] | None:
        """Return the row of one session, without the index of ids."""
        if self._sessions is None:
            self._sessions = {}
            for rowid in self._rows.rowids("sessions", gap=lambda first, following: None):
                owner = self._owner("sessions", "id", rowid)
                if owner is not None:
                    self._sessions.setdefault(owner, rowid)
        found = self._sessions.get(stored)
        return None if found is None else self._rows.salvage("sessions", columns, found, where=where)

    def owners(self) -> list[Any]:
        """Return the stored ids of all sessions that have messages, without an index."""
        return sorted(self._by_session(), key=repr)

    def messages(
        self, stored: Any, columns: Sequence[str], *, after: int | None, where: str
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield the messages of one session with their ids, those beyond an id."""
        for rowid in self._message_ids(stored):
            if (after is None or rowid > after) and not any(rowid in gap for gap in self._gaps):
                row = self._rows.salvage("messages", columns, rowid, where=f"{where}: message {rowid}")
                if row is not None:
                    yield rowid, row
                else:
                    self._lost.add(rowid)

    def _message_ids(self, stored: Any) -> list[int]:
        """Return the ids of a session's messages: from an index where one can be read, else by looking at every row once."""
        if self._indexed:
            condition, value = equals("session_id", stored)
            query = f"SELECT {self._rows.rowid('messages')} FROM messages WHERE {condition}"
            with suppress(*DAMAGE):
                return sorted(row[0] for row in self._rows.query(query, (value,)))
        return self._by_session().get(stored, [])

    def _by_session(self) -> dict[Any, list[int]]:
        if self._messages is None:
            self._messages = {}
            gaps: list[_Gap] = []
            for rowid in self._rows.rowids("messages", gap=lambda first, following: gaps.append((first, following))):
                owner = self._owner("messages", "session_id", rowid)
                if owner is not None:
                    self._messages.setdefault(owner, []).append(rowid)
                else:
                    self._report(f"{self._label}: message {rowid}", "its session is not known: its page is damaged", 1)
            if gaps:
                end = (self._rows.greatest("messages") or 0) + 1
                self._gaps = [range(max(first, 1), following or max(end, first + 1)) for first, following in gaps]
                lost = sum(rowid not in self._lost for gap in self._gaps for rowid in gap)
                self._report(f"{self._label}: messages", f"{_say(gaps)} could not be read: their pages are damaged", max(1, lost))
        return self._messages

    def _owner(self, table: str, column: str, rowid: int) -> Any:
        """Return one value of a row that may be damaged, or None."""
        try:
            tail = f"FROM {table} NOT INDEXED WHERE {self._rows.rowid(table)} = ?"
            found = next(self._rows.select((column,), tail, (rowid,), where=f"{self._label}: {table} {rowid}"), None)
        except DAMAGE:
            return None
        return found[0] if found else None


def _say(gaps: Sequence[_Gap]) -> str:
    """Say which rows are in the gaps, as far as it is known."""
    spans = [f"{max(first, 1)} to {following - 1}" if following else f"{max(first, 1)} and later" for first, following in gaps]
    return f"rows {', '.join(spans)}"

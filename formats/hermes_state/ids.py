"""What sessions are known by: a text is its own id; a BLOB, a number, NULL or text that is not UTF-8 gets a mark."""

from __future__ import annotations

from typing import Any

import apsw

from satchel.formats.hermes_info import public_id
from satchel.formats.hermes_state.rows import Rows, equals
from satchel.formats.hermes_state.schema import Column

__all__ = ["Ids", "same"]


class Ids:
    """The ids of a store's sessions: no two are known by the same text."""

    def __init__(self, rows: Rows, label: str) -> None:
        self._rows = rows
        self._label = label
        self._public: dict[Any, str] = {}
        self._stored: dict[str, Any] = {}
        self._marked: set[str] | None = None

    def __len__(self) -> int:
        """Return how many ids are known that are no text."""
        return len(self._public)

    def public(self, stored: Any) -> str:
        """Return what the session of this stored id is known by."""
        if type(stored) is str:
            return stored
        found = self._public.get(stored)
        if found is None:
            if self._marked is None:
                self._marked = self._texts_with_a_mark()
            found = public_id(stored)
            if found in self._marked or found in self._stored:
                found = public_id(stored, digits=64)
            while found in self._marked or found in self._stored:
                found += "~"
            self._public[stored] = found
            self._stored[found] = stored
        return found

    def stored(self, public: str) -> Any:
        """Return a session's id as the database has it: hardly ever anything but text in UTF-8."""
        return self._stored.get(public, public)

    def _texts_with_a_mark(self) -> set[str]:
        """Return the ids that look as if they stood for one that is no text."""
        found: set[str] = set()
        for column, table in (("id", "sessions"), ("session_id", "messages")):
            tail = f"FROM {table} WHERE typeof({column}) = 'text' AND instr({column}, '~')"
            try:
                rows = self._rows.select((f"DISTINCT {column} COLLATE BINARY",), tail, where=self._label)
                found |= {row[0] for row in rows if type(row[0]) is str}
            except apsw.Error:
                continue  # Whoever reads the rows meets the same.
        return found


def same(column: Column, stored: Any, *, of: str = "") -> tuple[str, Any]:
    """Return the SQL that says a column has exactly a stored id: a number is no text, whatever the column makes of it."""
    condition, value = equals(of + column.sql, stored)
    if type(stored) is str and not column.text:
        condition += f" AND typeof({of}{column.sql}) = 'text'"
    elif column.text and isinstance(stored, int | float):
        condition += " AND 0"
    return condition, value

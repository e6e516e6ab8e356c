"""
Finds the rows of other tables that belong to a session, in tables that are known and in those that are not.

A table refers to sessions by a foreign key, or by a column named session_id or ending in _session_id; `state_meta` by keys that
end in `:<session id>`, `gateway_routing` by the session named in its JSON, `system_prompts` by the hash in the session's row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import apsw

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_state.rows import DAMAGE, Rows, Table, equals, quote
from satchel.jsontext import loads

__all__ = ["Related"]

_NOT_ROWS = ("sessions", "messages", "schema_version", "state_meta", "gateway_routing", "system_prompts")
_OTHER_NAMES = {"async_delegations": ("origin_session",)}

_Found = tuple[str, tuple[Any, ...]]


class Related:
    """Looks once at each table, then answers for one session after another."""

    def __init__(self, rows: Rows, tables: Mapping[str, Table]) -> None:
        self._rows = rows
        self._tables = tables
        self._direct: list[tuple[Table, str]] = []
        self._mapped: dict[Any, list[_Found]] = {}
        self._ready = False

    def of(self, session_id: Any, row: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the rows that belong to a session, given its id as stored: table by table in name order, each row once."""
        if not self._ready:
            self._prepare()
        found: list[tuple[str, str, tuple[Any, ...]]] = []
        known: dict[tuple[str, str], Record] = {}
        for table, column in self._direct if session_id is not None else ():
            for record in self._rows_where(table, quote(column), session_id):
                key = record.key if isinstance(record.key, tuple) else (record.key,)
                known[table.name, repr(key)] = record
                found.append((table.name, repr(key), key))
        found += [(name, repr(key), key) for name, key in self._mapped.get(session_id, ())]
        prompt = row.get("system_prompt_hash")
        if prompt is not None and "system_prompts" in self._tables:
            prompts = self._tables["system_prompts"]
            found += [(prompts.name, repr(key), key) for key in self._keys_where(prompts, "hash", prompt)]
        last = None
        for name, text, key in sorted(found):
            if (name, text) != last:
                last = (name, text)
                row_record = known.get(last) or self._read(self._tables[name], key)
                if row_record is not None:
                    yield row_record

    def _read(self, table: Table, key: tuple[Any, ...]) -> Record | None:
        columns = table.quoted
        conditions = [equals(name, value) for name, value in zip(table.key, key, strict=True)]
        tail = f"FROM {quote(table.name)} WHERE " + " AND ".join(condition for condition, _ in conditions)
        where = f"{table.name} {key[0] if len(key) == 1 else key}"
        try:
            values = next(self._rows.select(columns, tail, [value for _, value in conditions], where=where), None)
        except apsw.Error as error:
            self._rows.lost(where, f"could not be read: {error}")
            return None
        if values is None:
            return None
        return Record(table.name, key[0] if len(key) == 1 else key, dict(zip(table.names, values, strict=True)))

    def _rows_where(self, table: Table, column: str, value: Any) -> list[Record]:
        """Return the rows that have a value in a column; where pages are damaged, those that can be read one by one."""
        condition, bound = equals(column, value)
        tail = f"FROM {quote(table.name)} WHERE {condition}"
        try:
            rows = list(self._rows.select([*table.key, *table.quoted], tail, (bound,), where=table.name))
        except apsw.Error:
            found = (self._read(table, key) for key in self._keys_where(table, column, value))
            return [record for record in found if record is not None]
        width = len(table.key)
        return [
            Record(table.name, row[0] if width == 1 else row[:width], dict(zip(table.names, row[width:], strict=True)))
            for row in rows
        ]

    def _keys_where(self, table: Table, column: str, value: Any) -> list[tuple[Any, ...]]:
        """Return what finds the rows that have a value in a column."""
        condition, bound = equals(column, value)
        tail = f"FROM {quote(table.name)} WHERE {condition}"
        try:
            return list(self._rows.select(table.key, tail, (bound,), where=table.name))
        except apsw.Error as error:
            self._rows.lost(table.name, f"could not be searched: {error}")
        return []

    def _prepare(self) -> None:
        self._ready = True
        for table in self._tables.values():
            if table.name in _NOT_ROWS or "_fts" in table.name:
                continue
            columns = {column for column, target in table.foreign if target == "sessions"}
            columns |= {n for n in table.names if n == "session_id" or n.endswith("_session_id")}
            columns |= {n for n in _OTHER_NAMES.get(table.name, ()) if table.has(n)}
            if not columns or self._is_empty(table):
                continue
            whole = self._rows.agree(table)
            for column in sorted(columns):
                if column in table.indexed and whole:
                    self._direct.append((table, column))
                else:
                    self._map(table, quote(column))
        if "state_meta" in self._tables:
            for key, name in self._keys("state_meta", "key"):
                if isinstance(name, str) and ":" in name:  # A name that is not UTF-8 names no session.
                    self._mapped.setdefault(name.partition(":")[2], []).append(("state_meta", key))
        if "gateway_routing" in self._tables:
            for key, entry in self._keys("gateway_routing", "entry_json"):
                for session_id in _named_in(entry):
                    self._mapped.setdefault(session_id, []).append(("gateway_routing", key))

    def _map(self, table: Table, column: str) -> None:
        for key, session_id in self._keys(table.name, column):
            if session_id is not None and session_id != "":
                self._mapped.setdefault(session_id, []).append((table.name, key))

    def _is_empty(self, table: Table) -> bool:
        try:
            return self._rows.query(f"SELECT 1 FROM {quote(table.name)} LIMIT 1").get is None
        except apsw.Error:
            return False

    def _keys(self, name: str, column: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield what finds each row of a table, with the row's value in a column."""
        table = self._tables[name]
        try:
            found = list(self._rows.select((*table.key, column), f"FROM {quote(name)}", where=name))
        except DAMAGE:
            self._rows.lost(name, "could not be searched whole: its pages are damaged")
            rowids = self._rows.rowids(name, gap=lambda first, following: None) if table.rowid is not None else ()
            salvaged = ((rowid, self._rows.salvage(name, (column,), rowid, where=f"{name} {rowid}")) for rowid in rowids)
            found = [(rowid, *row) for rowid, row in salvaged if row is not None]
        except apsw.Error as error:
            self._rows.lost(name, f"could not be searched: {error}")
            return
        for row in found:
            yield row[:-1], row[-1]


def _named_in(entry: Any) -> set[str]:
    """Return the session ids that a routing entry names."""
    try:
        value = loads(entry) if isinstance(entry, str) else None
    except JsonError:
        return set()
    if not isinstance(value, dict):
        return set()
    return {v for k, v in value.items() if (k == "session_id" or k.endswith("_session_id")) and isinstance(v, str) and v}

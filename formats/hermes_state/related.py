"""
Finds the rows of other tables that belong to a session, in tables that are known and in those that are not.

A table refers to sessions by a foreign key, or by a column named session_id or ending in _session_id; `state_meta` by keys that
end in `:<session id>`, `gateway_routing` by the session named in its JSON, `system_prompts` by the hash in the session's row.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import apsw

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_state.rows import DAMAGE, MOST_COLUMNS, Rows, equals
from satchel.formats.hermes_state.schema import Table, folded
from satchel.jsontext import RawText, loads

__all__ = ["Related"]

_NOT_ROWS = ("sessions", "messages", "schema_version", "state_meta", "gateway_routing", "system_prompts")
_OTHER_NAMES = {"async_delegations": ("origin_session",)}

_Key = tuple[Any, ...]


class Related:
    """Looks once at each table, then answers for one session after another."""

    def __init__(self, rows: Rows, tables: Mapping[str, Table]) -> None:
        self._rows = rows
        self._tables = tables
        self._direct: dict[str, list[str]] = {}
        # By table and session: a rowid, several in eight bytes each, or keys where the table has no rowids.
        self._mapped: dict[str, dict[Any, int | array[int] | list[_Key]]] = {}
        self._names: list[str] = []
        self._ready = False

    def of(self, session_id: Any, row: Mapping[str, Any]) -> Iterator[Record]:
        """
        Yield the rows that belong to a session, given its id as stored: table by table in name order, each row once.

        Of the rows themselves one at a time is in memory.
        """
        if not self._ready:
            self._prepare()
        prompt = row.get("system_prompt_hash")
        for name in self._names:
            table = self._tables[name]
            if name == "system_prompts":
                if prompt is not None:
                    yield from self._rows_where(table, ["hash"], prompt)
            elif name in self._direct:
                if session_id is not None:
                    yield from self._rows_where(table, self._direct[name], session_id)
            else:
                for key in _in_order(self._mapped[name].get(session_id)):
                    record = self._read(table, key)
                    if record is not None:
                        yield record

    def _read(self, table: Table, key: _Key) -> Record | None:
        conditions = [equals(name, value) for name, value in zip(table.key, key, strict=True)]
        tail = f"FROM {table.source} WHERE " + " AND ".join(condition for condition, _ in conditions)
        where = f"{table.name} {key[0] if len(key) == 1 else key}"
        try:
            values = next(self._rows.select(table.quoted, tail, [value for _, value in conditions], where=where), None)
        except apsw.Error as error:
            self._rows.lost(where, f"could not be read: {error}")
            return None
        if values is None:
            return None
        return Record(table.name, key[0] if len(key) == 1 else key, dict(zip(table.names, values, strict=True)))

    def _rows_where(self, table: Table, columns: Sequence[str], value: Any) -> Iterator[Record]:
        """Yield the rows that have a value in one of the columns; where pages are damaged, those that can be read one by one."""
        conditions = [equals(table.column(column).sql, value) for column in columns]
        order = ", ".join(f"{key} COLLATE BINARY" for key in table.key)
        tail = f"FROM {table.source} WHERE {' OR '.join(condition for condition, _ in conditions)} ORDER BY {order}"
        bound = [each for _, each in conditions]
        width, done = len(table.key), 0
        if width + len(table.quoted) <= MOST_COLUMNS:
            try:
                for row in self._rows.select([*table.key, *table.quoted], tail, bound, where=table.name):
                    done += 1
                    yield Record(
                        table.name, row[0] if width == 1 else row[:width], dict(zip(table.names, row[width:], strict=True))
                    )
                return
            except apsw.Error:
                pass
        for at, key in enumerate(self._keys_where(table, tail, bound)):
            record = self._read(table, key) if at >= done else None
            if record is not None:
                yield record

    def _keys_where(self, table: Table, tail: str, bound: Sequence[Any]) -> Iterator[_Key]:
        """Yield what finds the rows of a query."""
        try:
            yield from self._rows.select(table.key, tail, bound, where=table.name)
        except apsw.Error as error:
            self._rows.lost(table.name, f"could not be searched: {error}")

    def _prepare(self) -> None:
        self._ready = True
        for table in self._tables.values():
            if table.name in _NOT_ROWS or table.search:
                continue
            columns = {column for column, target in table.foreign if target == "sessions" and table.has(column)}
            columns |= {n for n in table.names if folded(n) == "session_id" or folded(n).endswith("_session_id")}
            columns |= {n for n in _OTHER_NAMES.get(table.name, ()) if table.has(n)}
            if not columns or self._is_empty(table):
                continue
            if columns <= table.indexed and self._rows.agree(table):
                self._direct[table.name] = sorted(columns)
            else:
                for column in sorted(columns):
                    for key, session_id in self._keys(table, column):
                        if session_id is not None:
                            self._map(session_id, table, key)
        if self._has("state_meta", "key"):
            table = self._tables["state_meta"]
            for key, name in self._keys(table, "key"):
                owner = _after_colon(name)
                if owner is not None:
                    self._map(owner, table, key)
        if self._has("gateway_routing", "entry_json"):
            table = self._tables["gateway_routing"]
            for key, entry in self._keys(table, "entry_json"):
                for session_id in _named_in(entry):
                    self._map(session_id, table, key)
        prompts = ["system_prompts"] if self._has("system_prompts", "hash") else []
        self._names = sorted([*self._direct, *self._mapped, *prompts])

    def _has(self, table: str, column: str) -> bool:
        return table in self._tables and self._tables[table].has(column)

    def _map(self, session_id: Any, table: Table, key: _Key) -> None:
        found = self._mapped.setdefault(table.name, {})
        keys = found.get(session_id)
        if table.rowid is None:
            if keys is None:
                keys = found[session_id] = []
            assert isinstance(keys, list)
            keys.append(key)
        elif keys is None:
            found[session_id] = key[0]
        else:
            if isinstance(keys, int):
                keys = found[session_id] = array("q", (keys,))
            keys.append(key[0])

    def _is_empty(self, table: Table) -> bool:
        try:
            return self._rows.query(f"SELECT 1 FROM {table.source} LIMIT 1").get is None
        except apsw.Error:
            return False

    def _keys(self, table: Table, column: str) -> Iterator[tuple[_Key, Any]]:
        """Yield what finds each row of a table, with the row's value in a column."""
        name, sql = table.name, table.column(column).sql
        last = None
        try:
            order = f" NOT INDEXED ORDER BY {table.rowid}" if table.rowid is not None else ""
            for row in self._rows.select((*table.key, sql), f"FROM {table.source}{order}", where=name):
                last = row[0]
                yield row[:-1], row[-1]
            return
        except DAMAGE:
            self._rows.lost(name, "could not be searched whole: its pages are damaged")
        except apsw.Error as error:
            self._rows.lost(name, f"could not be searched: {error}")
            return
        for rowid in self._rows.rowids(name, gap=lambda first, following: None) if table.rowid is not None else ():
            if last is None or rowid > last:
                found = self._rows.salvage(name, (sql,), rowid, where=f"{name} {rowid}")
                if found is not None:
                    yield (rowid,), found[0]


def _in_order(keys: int | array[int] | list[_Key] | None) -> Iterator[_Key]:
    """Yield each key once; a row may name a session in more than one column."""
    if isinstance(keys, int):
        yield (keys,)
    elif isinstance(keys, array):
        ordered = keys if all(one < other for one, other in pairwise(keys)) else sorted(set(keys))
        for rowid in ordered:
            yield (rowid,)
    elif keys is not None and len(keys) == 1:
        yield keys[0]
    elif keys is not None:
        yield from (key for _, key in sorted({repr(key): key for key in keys}.items()))


def _after_colon(key: Any) -> Any:
    """Return the session that a key of `state_meta` is about, None where it is about none."""
    if isinstance(key, str):
        _, colon, owner = key.partition(":")
        return owner if colon else None
    if not isinstance(key, RawText):
        return None
    _, mark, rest = key.data.partition(b":")
    try:
        return rest.decode() if mark else None
    except UnicodeDecodeError:
        return RawText(rest)


def _named_in(entry: Any) -> set[str]:
    """Return the session ids that a routing entry names."""
    try:
        value = loads(entry) if isinstance(entry, str) else None
    except JsonError:
        return set()
    if not isinstance(value, dict):
        return set()
    return {v for k, v in value.items() if (k == "session_id" or k.endswith("_session_id")) and isinstance(v, str)}

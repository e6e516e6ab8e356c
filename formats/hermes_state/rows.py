"""
Reads rows out of a SQLite database that may hold anything: text that is not UTF-8, damaged pages, a schema defined twice.

`Rows.select` yields what can be read and reports the rest. The fast way is an ordinary query; only what it can't read is read
again, value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

from satchel.jsontext import RawText

__all__ = ["DAMAGE", "Column", "Rows", "Table", "equals", "quote"]

DAMAGE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError, apsw.TooBigError)
"""What SQLite says of pages that can't be read; a damaged header may give a value any size."""

_FIRST, _LAST = -(2**63), 2**63 - 1
_NEAR = 1 << 17


class Column(NamedTuple):
    """A column as the schema declares it; `text` says whether its affinity turns every number into text."""

    name: str
    text: bool
    nullable: bool


class Table:
    """
    A table.

    Attributes:
        columns: Its columns, in name order.
        names, quoted: Their names, and those as SQL identifiers.
        key: The columns that find a row: rowid, or the primary key's.
        foreign: Its foreign keys: column and table.
        indexed: The columns that an index begins with.
    """

    __slots__ = ("columns", "foreign", "indexed", "key", "name", "names", "quoted")

    def __init__(
        self,
        name: str,
        columns: tuple[Column, ...],
        key: tuple[str, ...],
        foreign: tuple[tuple[str, str], ...],
        indexed: frozenset[str],
    ) -> None:
        self.name = name
        self.columns = columns
        self.names = tuple(column.name for column in columns)
        self.quoted = [quote(column) for column in self.names]
        self.key = key
        self.foreign = foreign
        self.indexed = indexed

    def has(self, name: str) -> bool:
        """Return whether there is a column of this name."""
        return name in self.names


@lru_cache(maxsize=4096)
def quote(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def equals(column: str, value: Any) -> tuple[str, Any]:
    """Return the SQL that says a column has exactly a stored value, and what to bind for its one `?`."""
    if isinstance(value, RawText):
        return f"{column} = CAST(? AS TEXT)", value.data
    return f"{column} {'IS' if value is None else '='} ?", value


class Rows:
    """Queries over one connection. `report(where, message, lost)` hears of what could not be read as it should."""

    def __init__(self, connection: apsw.Connection, report: Callable[[str, str, int], None]) -> None:
        self._connection = connection
        self._report = report
        self.statements = 0

    def lost(self, where: str, message: str) -> None:
        """Report one row, or one table's rows, as lost."""
        self._report(where, message, 1)

    def query(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Run a query over values that need no care."""
        self.statements += 1
        return self._connection.execute(sql, values)

    def tables(self) -> dict[str, Table]:
        """Return the ordinary tables by name; virtual tables and SQLite's own are left out."""
        found: dict[str, Table] = {}
        listed = self.select(("name", "sql"), "FROM sqlite_schema WHERE type = 'table'", where="the schema")
        names = [
            name
            for name, sql in listed
            if isinstance(name, str) and not name.startswith("sqlite_") and not str(sql).upper().startswith("CREATE VIRTUAL")
        ]
        for name in names:
            if name not in found:
                try:
                    found[name] = self._table(name)
                except (apsw.SQLError, UnicodeDecodeError) as error:
                    self._report(name, f"the schema says of this table what can't be understood ({error}); it is left out", 1)
        return found

    def _table(self, name: str) -> Table:
        quoted = quote(name)
        columns: list[Column] = []
        keys: list[tuple[int, str]] = []
        for _, column, declared, not_null, _, primary, hidden in self.query(f"PRAGMA table_xinfo({quoted})"):
            if hidden == 0:
                kind = str(declared).upper()
                text = "INT" not in kind and any(word in kind for word in ("CHAR", "CLOB", "TEXT"))
                columns.append(Column(column, text, not not_null and not primary))
                if primary:
                    keys.append((primary, column))
        foreign = tuple((row[3], row[2]) for row in self.query(f"PRAGMA foreign_key_list({quoted})") if isinstance(row[2], str))
        indexed: set[str] = set()
        for row in self.query(f"PRAGMA index_list({quoted})"):
            if row[4]:  # A partial index answers no general question.
                continue
            for number, _, column in self.query(f"PRAGMA index_info({quote(row[1])})"):
                if number == 0 and column is not None:
                    indexed.add(column)
        key = self._key(name, [column for _, column in sorted(keys)])
        return Table(name, tuple(sorted(columns)), key, foreign, frozenset(indexed))

    def _key(self, name: str, primary: list[str]) -> tuple[str, ...]:
        without_rowid = bool(self.query("SELECT wr FROM pragma_table_list WHERE name = ? AND schema = 'main'", (name,)).get)
        return tuple(primary) if without_rowid else ("rowid",)

    def select(self, columns: Sequence[str], tail: str, values: Sequence[Any] = (), *, where: str) -> Iterator[tuple[Any, ...]]:
        """
        Yield the rows of `SELECT columns tail`; text that is not UTF-8 comes as RawText.

        `columns` are SQL expressions. `where` names the rows for reports. Damage raises apsw.CorruptError.
        """
        done = 0
        try:
            for done, row in enumerate(self.query(f"SELECT {', '.join(columns)} {tail}", values), 1):  # noqa: B007
                yield row
            return
        except UnicodeDecodeError:
            pass
        self._report(where, "holds text that is not valid UTF-8; it is kept byte for byte", 0)
        encoding = str(self._connection.pragma("encoding"))
        pairs = ", ".join(f"typeof({c}), CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END" for c in columns)
        for row in self.query(f"SELECT {pairs} {tail} LIMIT -1 OFFSET {done}", values):
            yield tuple(
                _text(value, encoding) if kind == "text" else value for kind, value in zip(row[::2], row[1::2], strict=True)
            )

    def rowids(self, table: str, *, gap: Callable[[int, int | None], object]) -> Iterator[int]:
        """
        Yield the rowids of a table in order, stepping over pages that can't be read.

        `gap` hears of each step: the first rowid that may be missing, and the next one that is there, or None at the end.
        """
        quoted = quote(table)
        first: int | None = _FIRST
        while first is not None:
            last = first - 1
            try:
                for (rowid,) in self.query(f"SELECT rowid FROM {quoted} NOT INDEXED WHERE rowid >= ? ORDER BY rowid", (first,)):
                    last = rowid
                    yield rowid
                return
            except DAMAGE:
                # A step without progress must not be taken again.
                first = self._beyond(table, max(last, first))
                gap(last + 1, first)

    def _beyond(self, table: str, last: int) -> int | None:
        """Return the first rowid past a damaged page, or None: probe ahead in doubling steps, then close in."""
        quoted = quote(table)
        low, step, found = last, 1, None
        # From the very beginning the first rowids, 1 and up, are nearer than doubling steps.
        high = begin = 1 if last == _FIRST else min(last + 1, _LAST)
        while True:
            try:
                found = self._at_least(quoted, high)
                break
            except DAMAGE:
                if high == _LAST:
                    # The last page is damaged, so that every step beyond the others ends there.
                    high = (self.greatest(table) or begin + _NEAR // 8) + 1
                    break
                low, step = high, step * 2
                high = min(high + step, _LAST)
        if high - begin <= _NEAR:
            # A whole page may lie between two damaged ones, where halving would miss it.
            for rowid in range(begin, high):
                with suppress(*DAMAGE):
                    return self._at_least(quoted, rowid)
            return found
        while high - low > 1:
            middle = (low + high) // 2
            try:
                found = self._at_least(quoted, middle)
            except DAMAGE:
                low = middle
            else:
                high = middle
        return found

    def greatest(self, table: str) -> int | None:
        """Return the greatest rowid a table ever had, or None where SQLite keeps no account of it."""
        try:
            found = self.query("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).get
        except (apsw.Error, UnicodeDecodeError):
            found = None
        return found if isinstance(found, int) else None

    def _at_least(self, quoted: str, rowid: int) -> int | None:
        """Return the first rowid of a table from `rowid` on."""
        query = f"SELECT rowid FROM {quoted} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1"
        found: int | None = self.query(query, (rowid,)).get
        return found

    def salvage(self, table: str, columns: Sequence[str], rowid: int, *, where: str) -> tuple[Any, ...] | None:
        """Return one row, or what of its values can be read (the rest as None), or None when none can."""
        tail = f"FROM {quote(table)} NOT INDEXED WHERE rowid = ?"
        try:
            return next(self.select(columns, tail, (rowid,), where=where), None)
        except DAMAGE:
            pass
        values: list[Any] = []
        lost: list[str] = []
        for column in columns:
            try:
                row = next(self.select((column,), tail, (rowid,), where=where), None)
            except DAMAGE:
                lost.append(column.strip('"'))
                values.append(None)
            else:
                values.append(None if row is None else row[0])
        if len(lost) == len(columns):
            self._report(where, "could not be read: the page it is on is damaged", 1)
            return None
        self._report(where, f"could be read only in part: {', '.join(lost)} are on damaged pages", 1)
        return tuple(values)


def _text(data: bytes, encoding: str) -> str | RawText:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return RawText(data)

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
        rowid: What its rowid is called, as SQL; None when it has none, or columns have taken all its names.
        key: What finds a row, as SQL: the rowid, or the primary key's columns, or all columns.
        foreign: Its foreign keys: column and table.
        indexed: The columns that an index begins with.
        indexes: The names of the indexes that list every row.
    """

    __slots__ = ("columns", "foreign", "indexed", "indexes", "key", "name", "names", "quoted", "rowid")

    def __init__(
        self,
        name: str,
        columns: tuple[Column, ...],
        *,
        rowid: str | None,
        primary: tuple[str, ...],
        foreign: tuple[tuple[str, str], ...],
        indexed: frozenset[str],
        indexes: tuple[str, ...],
    ) -> None:
        self.name = name
        self.columns = columns
        self.names = tuple(column.name for column in columns)
        self.quoted = [quote(column) for column in self.names]
        self.rowid = rowid
        self.key = (rowid,) if rowid is not None else tuple(map(quote, primary)) or tuple(self.quoted)
        self.foreign = foreign
        self.indexed = indexed
        self.indexes = indexes

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
        return f"{column} = CAST(? AS TEXT) COLLATE BINARY", value.data
    # A column may be declared to take capitals for small letters, or to ignore blanks; ids that differ are different.
    return f"{column} IS ?" if value is None else f"{column} = ? COLLATE BINARY", value


class Rows:
    """Queries over one connection. `report(where, message, lost)` hears of what could not be read as it should."""

    def __init__(self, connection: apsw.Connection, report: Callable[[str, str, int], None]) -> None:
        self._connection = connection
        self._report = report
        self._rowid: dict[str, str] = {}
        self._agree: dict[str, bool] = {}
        self.statements = 0

    def lost(self, where: str, message: str) -> None:
        """Report one row, or one table's rows, as lost."""
        self._report(where, message, 1)

    def query(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Run a query over values that need no care."""
        self.statements += 1
        return self._connection.execute(sql, values)

    def rowid(self, table: str) -> str:
        """Return what a table's rowid is called, as SQL."""
        return self._rowid.get(table, "rowid")

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
        taken: set[str] = set()
        for _, column, declared, not_null, _, primary, hidden in self.query(f"PRAGMA table_xinfo({quoted})"):
            taken.add(column.lower())
            if hidden == 0:
                kind = str(declared).upper()
                text = "INT" not in kind and any(word in kind for word in ("CHAR", "CLOB", "TEXT"))
                columns.append(Column(column, text, not not_null and not primary))
                if primary:
                    keys.append((primary, column))
        foreign = tuple((row[3], row[2]) for row in self.query(f"PRAGMA foreign_key_list({quoted})") if isinstance(row[2], str))
        indexed: set[str] = set()
        indexes: list[str] = []
        for row in self.query(f"PRAGMA index_list({quoted})"):
            if row[4]:  # A partial index answers no general question.
                continue
            indexes.append(row[1])
            for number, _, column in self.query(f"PRAGMA index_info({quote(row[1])})"):
                if number == 0 and column is not None:
                    indexed.add(column)
        rowid = None
        if not self.query("SELECT wr FROM pragma_table_list WHERE name = ? AND schema = 'main'", (name,)).get:
            # A column may be called as the rowid is: the name then means the column.
            rowid = next((word for word in ("rowid", "_rowid_", "oid") if word not in taken), None)
        self._rowid[name] = rowid or "rowid"
        return Table(
            name,
            tuple(sorted(columns)),
            rowid=rowid,
            primary=tuple(column for _, column in sorted(keys)),
            foreign=foreign,
            indexed=frozenset(indexed),
            indexes=tuple(indexes),
        )

    def agree(self, table: Table) -> bool:
        """Return whether a table and its indexes list equally many rows: a damaged page can hide some without an error."""
        if table.name not in self._agree:
            counts = {self._count(table, way) for way in ("NOT INDEXED", *(f"INDEXED BY {quote(i)}" for i in table.indexes))}
            self._agree[table.name] = len(counts - {None}) < 2
        return self._agree[table.name]

    def _count(self, table: Table, way: str) -> int | None:
        """Count the rows that are met on one way through a table; None where it meets damage, as whoever reads them will."""
        try:
            found: int = self.query(f"SELECT count(*) FROM {quote(table.name)} {way}").get
        except apsw.Error:
            return None
        return found

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
        name = self.rowid(table)
        query = f"SELECT {name} FROM {quote(table)} NOT INDEXED WHERE {name} >= ? ORDER BY {name}"
        first: int | None = _FIRST
        while first is not None:
            last = first - 1
            try:
                for (rowid,) in self.query(query, (first,)):
                    last = rowid
                    yield rowid
                return
            except DAMAGE:
                # A step without progress must not be taken again.
                first = self._beyond(table, max(last, first))
                gap(last + 1, first)

    def _beyond(self, table: str, last: int) -> int | None:
        """Return the first rowid past a damaged page, or None: probe ahead in doubling steps, then close in."""
        low, step, found = last, 1, None
        # From the very beginning the first rowids, 1 and up, are nearer than doubling steps.
        high = begin = 1 if last == _FIRST else min(last + 1, _LAST)
        while True:
            try:
                found = self._at_least(table, high)
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
                    return self._at_least(table, rowid)
            return found
        while high - low > 1:
            middle = (low + high) // 2
            try:
                found = self._at_least(table, middle)
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

    def _at_least(self, table: str, rowid: int) -> int | None:
        """Return the first rowid of a table from `rowid` on."""
        name = self.rowid(table)
        query = f"SELECT {name} FROM {quote(table)} NOT INDEXED WHERE {name} >= ? ORDER BY {name} LIMIT 1"
        found: int | None = self.query(query, (rowid,)).get
        return found

    def salvage(self, table: str, columns: Sequence[str], rowid: int, *, where: str) -> tuple[Any, ...] | None:
        """Return one row, or what of its values can be read (the rest as None), or None when none can."""
        tail = f"FROM {quote(table)} NOT INDEXED WHERE {self.rowid(table)} = ?"
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

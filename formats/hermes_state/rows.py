"""
Reads rows out of a SQLite database that may hold anything: text that is not UTF-8, damaged pages, a schema defined twice.

`Rows.select` yields what can be read and reports the rest. The fast way is an ordinary query; only what it can't read is read
again, value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw

from satchel.errors import StoreError
from satchel.formats.hermes_state.schema import Table, quote, read_tables
from satchel.jsontext import RawText

__all__ = ["DAMAGE", "MOST_COLUMNS", "Rows", "equals", "no_room"]

DAMAGE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError, apsw.TooBigError)
"""What SQLite says of pages that can't be read; a damaged header may give a value any size."""

MOST_COLUMNS = 2000
"""How many columns a table or the result of a query may have."""

_FIRST, _LAST = -(2**63), 2**63 - 1
_NEAR = 1 << 17


_WRITING = (apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_TRUNCATE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_GETTEMPPATH)


def no_room(error: apsw.Error) -> bool:
    """Return whether SQLite found no place for a temporary file: nothing else is ever written."""
    return isinstance(error, apsw.FullError | apsw.CantOpenError) or getattr(error, "extendedresult", 0) in _WRITING


def equals(column: str, value: Any) -> tuple[str, Any]:
    """Return the SQL that says a column has exactly a stored value, and what to bind for its one `?`."""
    if isinstance(value, RawText):
        return f"{column} = CAST(? AS TEXT) COLLATE BINARY", value.data
    # A column may be declared to take capitals for small letters, or to ignore blanks; ids that differ are different.
    return f"{column} IS ?" if value is None else f"{column} = ? COLLATE BINARY", value


class Rows:
    """Queries over one connection. `report(where, message, lost)` hears of what could not be read as it should."""

    def __init__(self, connection: apsw.Connection, report: Callable[[str, str, int], None], *, label: str = "the store") -> None:
        self._connection = connection
        self._report = report
        self._label = label
        self._tables: dict[str, Table] = {}
        self._agree: dict[str, bool] = {}
        self._encoding: str | None = None
        self.statements = 0

    @property
    def encoding(self) -> str:
        """What the database's texts are stored in, by SQLite's name."""
        if self._encoding is None:
            self._encoding = str(self._connection.pragma("encoding"))
        return self._encoding

    def lost(self, where: str, message: str) -> None:
        """Report one row, or one table's rows, as lost."""
        self._report(where, message, 1)

    def query(self, sql: str, values: Sequence[Any] = ()) -> apsw.Cursor:
        """Run a query over values that need no care. Raises StoreError where it finds no room for its temporary files."""
        self.statements += 1
        try:
            return self._connection.execute(sql, values)
        except apsw.Error as error:
            self._told(error)
            raise

    def _told(self, error: apsw.Error) -> None:
        if no_room(error):
            raise StoreError(
                f"there is no room for the temporary files that reading {self._label} takes ({error}); "
                "set TMPDIR to a folder with room for them",
                subject=self._label,
            ) from error

    def tables(self, *, malformed: bool = False) -> dict[str, Table]:
        """Return the ordinary tables by name; virtual tables and SQLite's own are left out."""
        self._tables = read_tables(self, self._report, malformed=malformed)
        return self._tables

    def rowid(self, table: str) -> str:
        """Return what a table's rowid is called, as SQL."""
        return self._tables[table].rowid or "rowid"

    def source(self, table: str) -> str:
        """Return what stands for a table in a query, as SQL."""
        return self._tables[table].source

    def agree(self, table: Table) -> bool:
        """Return whether a table and its indexes list equally many rows: a damaged page can hide some without an error."""
        if table.name not in self._agree:
            counts = {self._count(table, way) for way in ("NOT INDEXED", *(f"INDEXED BY {quote(i)}" for i in table.indexes))}
            self._agree[table.name] = len(counts - {None}) < 2
        return self._agree[table.name]

    def _count(self, table: Table, way: str) -> int | None:
        """Count the rows that are met on one way through a table; None where it meets damage, as whoever reads them will."""
        try:
            found: int = self.query(f"SELECT count(*) FROM {table.source} {way}").get
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
        except apsw.Error as error:
            self._told(error)
            raise
        self._report(where, "holds text that is not valid UTF-8; it is kept byte for byte", 0)
        if 2 * len(columns) > MOST_COLUMNS:
            yield from self._wide(columns, f"{tail} LIMIT -1 OFFSET {done}", values)
            return
        pairs = ", ".join(f"typeof({c}), CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END" for c in columns)
        for row in self.query(f"SELECT {pairs} {tail} LIMIT -1 OFFSET {done}", values):
            yield self._paired(row)

    def _wide(self, columns: Sequence[str], tail: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield rows of more columns than a result may have of pairs: each in several parts, one after the other."""
        width = MOST_COLUMNS // 2 - 1
        count = -(-len(columns) // width)
        inside = ", ".join(f"c{i}" for i in range(len(columns)))
        parts = (range(at, len(columns), width) for at in range(width))
        of_part = ["CASE n " + " ".join(f"WHEN {n} THEN c{i}" for n, i in enumerate(part)) + " END" for part in parts]
        pairs = ", ".join(f"typeof({c}), CASE typeof({c}) WHEN 'text' THEN CAST({c} AS BLOB) ELSE {c} END" for c in of_part)
        query = (
            f"WITH whole({inside}) AS (SELECT {', '.join(columns)} {tail}), "
            f"part(n) AS (VALUES {', '.join(f'({n})' for n in range(count))}) SELECT n, {pairs} FROM whole CROSS JOIN part"
        )
        row: list[tuple[Any, ...]] = []
        for n, *found in self.query(query, values):
            if n != len(row):
                raise apsw.InternalError("the parts of a row came in another order")
            row.append(self._paired(found))
            if len(row) == count:
                yield tuple(value for part in row for value in part)[: len(columns)]
                row = []

    def _paired(self, row: Sequence[Any]) -> tuple[Any, ...]:
        encoding = self.encoding
        return tuple(_text(value, encoding) if kind == "text" else value for kind, value in zip(row[::2], row[1::2], strict=True))

    def rowids(self, table: str, *, gap: Callable[[int, int | None], object]) -> Iterator[int]:
        """
        Yield the rowids of a table in order, stepping over pages that can't be read.

        `gap` hears of each step: the first rowid that may be missing, and the next one that is there, or None at the end.
        """
        name = self.rowid(table)
        query = f"SELECT {name} FROM {self.source(table)} NOT INDEXED WHERE {name} >= ? ORDER BY {name}"
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
        query = f"SELECT {name} FROM {self.source(table)} NOT INDEXED WHERE {name} >= ? ORDER BY {name} LIMIT 1"
        found: int | None = self.query(query, (rowid,)).get
        return found

    def salvage(self, table: str, columns: Sequence[str], rowid: int, *, where: str) -> tuple[Any, ...] | None:
        """Return one row, or what of its values can be read (the rest as None), or None when none can."""
        tail = f"FROM {self.source(table)} NOT INDEXED WHERE {self.rowid(table)} = ?"
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

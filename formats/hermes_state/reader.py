"""
Reads a Hermes store: every schema from 1 on, by column name, whatever columns and tables it has.

What belongs to a session is its row, its messages, and every row of another table that refers to it. Facts and their sources:
docs/formats/hermes-state.md.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import apsw

from satchel.contracts import Claim, Record, SessionInfo
from satchel.errors import NotAStore, NotFound, StoreDamaged
from satchel.events import Listener, StoreOpened
from satchel.formats.hermes_info import PARENT_COLUMNS, SHORT_COLUMNS, ParentFacts, Tally, session_info
from satchel.formats.hermes_rows import canonical, number, text_of
from satchel.formats.hermes_state.ids import Ids, same
from satchel.formats.hermes_state.related import Related
from satchel.formats.hermes_state.rows import DAMAGE, MOST_COLUMNS, Rows
from satchel.formats.hermes_state.salvage import Salvage
from satchel.formats.hermes_state.schema import Table, quote
from satchel.formats.hermes_state.search import look_at_search
from satchel.formats.hermes_state.snapshot import Snapshot, is_sqlite, open_snapshot, sides
from satchel.formats.told import Told

if TYPE_CHECKING:
    from satchel.formats.model import Entry

__all__ = ["KNOWN_SCHEMA", "HermesStore", "name", "open", "sniff"]

name = "hermes"

KNOWN_SCHEMA = 23
"""The newest schema whose meaning is documented; later ones are read by column name."""

_INFINITE = frozenset((math.inf, -math.inf))
_EVERY = object()
_NOT_SET = "({0} = 0 OR {0} = '' OR {0} = x'')"


def sniff(path: Path) -> Claim | None:
    """Say whether the path is a SQLite file with Hermes' tables."""
    if not path.is_file() or not is_sqlite(path):
        return None
    return Claim(reader=name, why="a SQLite database")


def open(path: Path, *, listen: Listener, private: bool = False, profile: str | None = None) -> HermesStore:
    """
    Open the store at the path.

    Args:
        private: Read from a private copy, whatever the state of the files.
        profile: The profile's name, for people.

    Raises:
        NotAStore: It is no SQLite file, or one of another program.
        StoreDamaged: Nothing can be read from it.
        StoreError: It can't be opened.
    """
    snapshot = open_snapshot(path, private=private)
    try:
        return HermesStore(snapshot, listen=listen, profile=profile)
    except BaseException:
        snapshot.close()
        raise


class HermesStore:
    """An opened store: one state of it, until it is closed."""

    format = name
    agent = "hermes"
    dialect = "hermes"
    conversation = "messages"

    def __init__(self, snapshot: Snapshot, *, listen: Listener, profile: str | None) -> None:
        self.path = snapshot.path
        self.profile = profile
        self.label = f"{snapshot.path} (profile {profile})" if profile else str(snapshot.path)
        self._snapshot = snapshot
        self._listen = listen
        self._damaged = False
        self._report = Told(listen)
        self._looked = False
        self._seen: set[str] | None = None
        self._truth: dict[Any, int] | None = None
        self._rows = Rows(snapshot.connection, self._report, label=self.label)
        self._ids = Ids(self._rows, self.label)
        self._salvage = Salvage(self._rows, self.label, self._report, self._ids.public)
        self.tables = self._tables()
        self._sessions: Table = self.tables["sessions"]
        self._messages: Table = self.tables["messages"]
        self.schema = self._schema()
        self._related = Related(self._rows, self.tables)
        self._scan = self._scan_columns()
        self._session_order, self._row_order = self._session_orders()
        self._row_names = (*(n for n in self._messages.names if n != "id"), "id")
        numeric = [i for i, n in enumerate(self._row_names) if not self._messages.column(n).text]
        self._numbers = itemgetter(*numeric) if len(numeric) > 1 else lambda row: [row[i] for i in numeric]
        self._row_columns = [self._messages.column(n).sql for n in self._row_names]
        self._order = self._message_order()
        listen(StoreOpened(name, self.label, snapshot.how))
        self._look()

    # ------------------------------------------------------------------------------------------------------ opening

    def _tables(self) -> dict[str, Table]:
        try:
            try:
                tables = self._rows.tables()
            except apsw.CorruptError as error:
                # A schema that names an object twice, or a file cut short: its tables can be read all the same.
                self._snapshot.connection.pragma("writable_schema", True)
                tables = self._rows.tables(malformed=True)
                self._report(str(self.path), f"its schema is malformed ({error}); what can be read is read", 0)
        except (*DAMAGE, apsw.SQLError) as error:
            self.check()
            raise StoreDamaged(f"{self.path} is damaged: nothing can be read from it ({error})", subject=self.path) from error
        sessions, messages = tables.get("sessions"), tables.get("messages")
        ours = (
            sessions is not None
            and messages is not None
            and all(map(sessions.has, ("id", "source", "started_at")))
            and all(map(messages.has, ("id", "session_id", "role", "content")))
        )
        if not ours:
            found = ", ".join(sorted(tables)[:6]) or "no tables"
            raise NotAStore(
                f"{self.path} is a SQLite database, but not a Hermes store (it has {found}); name a Hermes state.db",
                subject=self.path,
            )
        return tables

    def _scan_columns(self) -> tuple[list[str], list[str], list[str], str]:
        """Return what a scan of sessions selects: the row's columns, all labels, their SQL, and the tables."""
        names = [n for n in SHORT_COLUMNS if self._sessions.has(n)]
        columns = [f"s.{quote(n)}" for n in names]
        if not self._sessions.has("parent_session_id"):
            return names, names, columns, "FROM sessions s"
        parent = [n for n in PARENT_COLUMNS if self._sessions.has(n)]
        tables = "FROM sessions s LEFT JOIN sessions p ON p.id = s.parent_session_id COLLATE BINARY"
        return names, [*names, *(f"parent.{n}" for n in parent)], columns + [f"p.{quote(n)}" for n in parent], tables

    def _session_orders(self) -> tuple[str, str]:
        """Return what a scan of sessions, and the rows of one id, are sorted by: of several of one id the first counts."""
        scan, one = "s.started_at COLLATE BINARY, s.id COLLATE BINARY", "started_at COLLATE BINARY"
        rowid = self._sessions.rowid
        if rowid is not None and ("id" not in self._sessions.unique or self._sessions.column("id").nullable):
            scan, one = f"{scan}, s.{rowid}", f"{one}, {rowid}"
            if "p.id" in self._scan[3]:
                scan += f", p.started_at COLLATE BINARY, p.{rowid}"
        return scan, one

    def _message_order(self) -> str:
        """Return what messages are sorted by, as SQL: as `hermes_info.message_order` has it."""
        if self._messages.alias == "id":
            return "id"
        collation = "BINARY"
        if self._rows.encoding != "UTF-8":
            # Texts compare by their bytes as stored, and the order shall not depend on how a database stores them.
            collation = "satchel_utf8"
            self._snapshot.connection.create_collation(collation, lambda one, other: (one > other) - (one < other))
        names = sorted(self._messages.names, key=lambda n: (n != "id", n != "timestamp", n))
        return ", ".join(f"{self._messages.column(n).sql} COLLATE {collation}" for n in names)

    def _schema(self) -> int | None:
        if "schema_version" not in self.tables:
            return None
        try:
            found = [row[0] for row in self._rows.query("SELECT max(version) FROM schema_version")]
        except apsw.Error:
            return None
        return found[0] if found and isinstance(found[0], int) else None

    def _look(self) -> None:
        """Tell what is odd about the store before anything is read: nothing here hides a session."""
        where = self.label
        if self.schema is not None and self.schema > KNOWN_SCHEMA:
            self._warn(
                where,
                f"its schema {self.schema} is newer than the newest known one ({KNOWN_SCHEMA}): it is read by column name, "
                "and unknown columns and tables are kept",
            )
        if self._messages.has("active") and self._messages.column("active").nullable:
            self._warn(where, "its messages may have no `active` mark; those without one are read as live")
        look_at_search(self._rows, lambda what: self._warn(where, what))
        for table in self.tables.values():
            try:
                self._rows.query(f"SELECT 1 FROM {table.source} LIMIT 1").fetchall()
            except DAMAGE:
                self._fail()
                # What is lost by that is told row by row when the rows are read; a search index is never read.
                search = " (part of a search index, which holds no session of its own)" if table.search else ""
                self._report(f"{where}: {table.name}", f"the table's pages are damaged{search}", 1 if search else 0)
            except apsw.Error:
                continue

    # ------------------------------------------------------------------------------------------------------ telling

    def _warn(self, where: str, message: str) -> None:
        self._report(where, message, 0)

    def _fail(self) -> None:
        """Take note of damage, unless the store only changed under the reading."""
        self.check()
        self._damaged = True

    # ------------------------------------------------------------------------------------------------------ the store

    def __enter__(self) -> HermesStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._snapshot.close()

    def check(self) -> None:
        """Raise StoreChanged if what was read may not be one state."""
        self._snapshot.check()

    @property
    def statements(self) -> int:
        """How many SQL statements were run."""
        return self._rows.statements

    def facts(self) -> dict[str, Any]:
        """Return what is known of the store as a whole: schema, files, counts; JSON-ready."""
        try:
            totals = self._rows.query("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)").fetchall()[0]
        except DAMAGE:
            self._fail()
            totals = (None, None)
        return {
            "format": name,
            "path": str(self.path),
            "profile": self.profile,
            "schema": self.schema,
            "known_schema": KNOWN_SCHEMA,
            "read": self._snapshot.how,
            "bytes": self.path.stat().st_size,
            "beside": dict(sides(self.path)),
            "sessions": totals[0],
            "messages": totals[1],
            "tables": sorted(self.tables),
            "damaged": self._damaged,
        }

    def sessions(self, *, counts: bool = True) -> Iterator[SessionInfo]:
        """Yield every session by start and id; then those of which only messages are left."""
        tallies = self._tallies() if counts else {}
        seen: set[str] = set()
        _, labels, columns, tables = self._scan
        tail = f"{tables} ORDER BY {self._session_order}"
        try:
            for row in self._rows.select(columns, tail, where=f"{self.label}: sessions"):
                info = self._info(dict(zip(labels, row)), tallies, counts)  # noqa: B905
                if info.id not in seen:
                    seen.add(info.id)
                    yield info
            self._tell_twins()
        except DAMAGE:
            self._fail()
            yield from self._salvaged_sessions(seen, tallies, counts)
            return
        if not self._rows.agree(self._sessions):
            self._fail()
            self._warn(self.label, "its table of sessions and an index of it do not list the same rows: pages are damaged")
            yield from self._salvaged_sessions(seen, tallies, counts)
            return
        for info in self._orphans(tallies, counts, seen=seen):
            seen.add(info.id)
            yield info
        self._seen = seen

    def session(self, session_id: str, *, counts: bool = True) -> SessionInfo:
        """Return the session of exactly this id. Raises NotFound."""
        _, labels, columns, tables = self._scan
        where = f"{self.label}: session {session_id}"
        stored = self._ids.stored(session_id)
        tallies = self._tallies(stored) if counts else {}
        condition, value = same(self._sessions.column("id"), stored, of="s.")
        try:
            tail = f"{tables} WHERE {condition} ORDER BY {self._session_order}"
            row = next(self._rows.select(columns, tail, (value,), where=where), None)
        except DAMAGE:
            self._fail()
            row = None
        if row is not None:
            return self._info(dict(zip(labels, row, strict=True)), tallies, counts)
        if self._damaged:
            found = next((info for info in self.sessions(counts=counts) if info.id == session_id), None)
        else:
            found = next((info for info in self._orphans(tallies, counts, session_id=stored) if info.id == session_id), None)
        if found is None:
            if self._look_closer():
                return self.session(session_id, counts=counts)
            raise NotFound(f"{self.label} has no session {session_id}", subject=session_id)
        return found

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the session's row, then rows of other tables that belong to it, then its messages by id."""
        stored = self._ids.stored(session_id)
        row = self._session_row(session_id, stored)
        if row is None and self._look_closer():
            stored = self._ids.stored(session_id)
            row = self._session_row(session_id, stored)
        if row is not None:
            yield Record("sessions", session_id, row)
        # An empty id says that there is no session, unless there is one.
        if stored != "" or row is not None or self._by_table("") != 0:
            yield from self._related.of(stored, row or {})
        yield from self._message_records(session_id, stored)

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield one entry for each record: a message for a row of `messages`, a note for any other."""
        # Reading and copying rows needs no model.
        from satchel.formats.hermes_decode import decode

        return map(decode, records)

    canonical = staticmethod(canonical)

    # ------------------------------------------------------------------------------------------------------ sessions

    def _info(self, row: dict[str, Any], tallies: dict[Any, Tally], counts: bool) -> SessionInfo:
        parent = None
        if row.get("parent_session_id") is not None and any(row.get(f"parent.{n}") is not None for n in PARENT_COLUMNS):
            parent = ParentFacts(
                end_reason=text_of(row.get("parent.end_reason")),
                ended_at=number(row.get("parent.ended_at")),
                session_key=text_of(row.get("parent.session_key")),
            )
        return session_info(
            row,
            format=name,
            store=self.label,
            profile=self.profile,
            parent=parent,
            tally=tallies.get(row.get("id"), Tally()) if counts else None,
            identify=self._ids.public,
        )

    def _tell_twins(self) -> None:
        """Tell of rows that have the very id of another one: a session has one row, and no more is read."""
        column = self._sessions.column("id")
        if "id" in self._sessions.unique and not column.nullable:
            return
        only = "WHERE id IS NULL" if "id" in self._sessions.unique else ""
        tail = f"FROM sessions {only} GROUP BY id COLLATE BINARY HAVING count(*) > 1"
        for stored, count in self._rows.select(("id", "count(*)"), tail, where=f"{self.label}: sessions"):
            where = f"{self.label}: session {self._ids.public(stored)}"
            self._report(where, f"{count} rows have this id; the one that started first is read", count - 1)

    def _look_closer(self) -> bool:
        """Look through all sessions, once, for ids that are no text, and for damage; return whether something came to light."""
        known, damaged = len(self._ids), self._damaged
        if not self._looked:
            self._looked = True
            for _ in self.sessions(counts=False):
                pass
        return len(self._ids) > known or self._damaged is not damaged

    def _tallies(self, session_id: Any = _EVERY) -> dict[Any, Tally]:
        """Count each session's messages, or one session's: live, compacted, rewound, and the newest one's time."""
        has_active, has_compacted = self._messages.has("active"), self._messages.has("compacted")
        hidden = f"sum({_NOT_SET.format('active')})" if has_active else "0"
        # Text and BLOBs are greater than any number.
        newest = "max(CASE WHEN timestamp > -9e999 AND timestamp < 9e999 THEN timestamp END)"
        newest = newest if self._messages.has("timestamp") else "NULL"
        condition, value = same(self._messages.column("session_id"), session_id)
        one, values = ("", ()) if session_id is _EVERY else (f"WHERE {condition}", (value,))
        tallies: dict[Any, Tally] = {}
        try:
            selected = ("session_id", "count(*)", hidden, newest)
            tail = f"FROM messages {one} GROUP BY session_id COLLATE BINARY"
            for owner, total, gone, latest in self._rows.select(selected, tail, values, where=f"{self.label}: messages"):
                compacted = 0
                if gone and has_compacted:
                    condition, value = same(self._messages.column("session_id"), owner)
                    inner = f"SELECT count(*) FROM messages WHERE {condition} AND {_NOT_SET.format('active')}"
                    compacted = self._rows.query(f"{inner} AND NOT {_NOT_SET.format('compacted')}", (value,)).get
                gone = gone or 0
                tallies[owner] = Tally(total - gone, compacted, gone - compacted, number(latest))
        except DAMAGE:
            self._fail()
            self._warn(self.label, "its messages could not all be counted: pages are damaged")
        return tallies

    def _orphans(
        self, tallies: dict[Any, Tally], counts: bool, *, seen: Container[str | None] = (), session_id: Any = _EVERY
    ) -> Iterator[SessionInfo]:
        """Yield a session for messages whose session row does not exist, but for sessions that were seen."""
        condition, value = same(self._messages.column("session_id"), session_id)
        values: tuple[Any, ...] = (value,)
        if session_id is _EVERY:
            known = "SELECT DISTINCT session_id COLLATE BINARY FROM messages EXCEPT SELECT id FROM sessions"
            condition, values = f"session_id COLLATE BINARY IN ({known})", ()
            if self._messages.column("session_id").nullable:
                condition += " OR (session_id IS NULL AND NOT EXISTS (SELECT 1 FROM sessions WHERE id IS NULL))"
        order = "session_id COLLATE BINARY"
        tail = f"FROM messages WHERE {condition} GROUP BY {order} ORDER BY {order}"
        timed = self._messages.has("timestamp")
        columns = ("session_id", *(("min(timestamp)", "max(timestamp)") if timed else ("NULL", "NULL")))
        try:
            found = list(self._rows.select(columns, tail, values, where=f"{self.label}: messages"))
        except DAMAGE:
            self._fail()
            found = [(owner, None, None) for owner in self._salvage.owners()]
        told: set[Any] = set()
        for owner, first, last in found:
            public = self._ids.public(owner)
            if owner not in told and public not in seen:  # A damaged index may give one twice.
                told.add(owner)
                self._warn(self.label, f"session {public} has messages but no row of its own; it is taken from its messages")
                yield self._bare(owner, tallies, counts, first, last)

    def _bare(
        self,
        session_id: Any,
        tallies: dict[Any, Tally],
        counts: bool,
        first: Any = None,
        last: Any = None,
    ) -> SessionInfo:
        row = {"id": session_id, "source": "recovered", "started_at": first, "ended_at": last, "end_reason": None}
        info = self._info(row, tallies, counts)
        info.damaged = True
        return info

    def _salvaged_sessions(self, seen: set[str], tallies: dict[Any, Tally], counts: bool) -> Iterator[SessionInfo]:
        """Yield the sessions of a damaged table that were not seen yet."""
        names = self._scan[0]
        found: list[SessionInfo] = []
        for left in self._salvage.sessions([quote(n) for n in names], seen):
            if not isinstance(left, tuple):
                info = self._bare(left, tallies, counts)
            elif left[names.index("id")] is None and not self._sessions.column("id").nullable:
                continue
            else:
                info = self._info(dict(zip(names, left, strict=True)), tallies, counts)
            if info.id not in seen:
                seen.add(info.id)
                found.append(info)
        yield from sorted(found, key=lambda i: (i.started_at or 0.0, i.id))

    def _session_row(self, session_id: str, stored: Any) -> dict[str, Any] | None:
        names, columns = self._sessions.names, self._sessions.quoted
        where = f"{self.label}: session {session_id}"
        condition, value = same(self._sessions.column("id"), stored)
        try:
            tail = f"FROM sessions WHERE {condition} ORDER BY {self._row_order}"
            row = next(self._rows.select(columns, tail, (value,), where=where), None)
        except DAMAGE:
            self._fail()
            row = None
        if row is None and self._damaged:
            row = self._salvage.session(stored, columns, where)
        return None if row is None else dict(zip(names, row, strict=True))

    # ------------------------------------------------------------------------------------------------------ messages

    def _message_records(self, session_id: str, stored: Any) -> Iterator[Record]:
        names, columns = self._row_names, self._row_columns
        where = f"{self.label}: messages of {session_id}"
        numbers = self._numbers
        infinite = _INFINITE
        owned, value = same(self._messages.column("session_id"), stored)
        condition = owned
        rowid_name = self._messages.rowid
        if rowid_name is not None:
            # Most versions have no index that gives the rows in order: their ids are sorted, and not the rows.
            condition = f"{rowid_name} IN (SELECT {rowid_name} FROM messages WHERE {owned})"
        selected, by_id = columns, self._messages.alias == "id"
        if rowid_name is not None and not by_id and len(columns) < MOST_COLUMNS:
            # The id is not the place of a row: what was read before damage was met is told by the rowid.
            selected = [*columns, rowid_name]
        listed, there = self._listed(owned, value), self._by_table(stored)
        read: set[int] = set()
        last: Any = None
        if there is None or listed is None or there == listed or rowid_name is None:
            found = 0
            tail = f"FROM messages WHERE {condition} ORDER BY {self._order}"
            try:
                for row in self._rows.select(selected, tail, (value,), where=where):
                    found += 1
                    if by_id:
                        last = row[-1]
                    elif selected is not columns:
                        read.add(row[-1])
                    data = dict(zip(names, row))  # noqa: B905
                    yield Record("messages", data["id"], data, None, infinite.isdisjoint(numbers(row)))
            except DAMAGE:
                self._fail()
            else:
                self._compare(found, max(listed or 0, there or 0), where)
                return
            if selected is columns and not by_id:
                self._report(where, "could not be read to their end: pages are damaged", 1)
                return
        else:
            self._fail()
            self._warn(where, "an index does not list them as the table has them: it is damaged, and they are read without it")
            self._salvage.without_indexes()
            self._compare(there, listed, where)
        for rowid, row in self._salvage.messages(stored, columns, after=last, where=f"{self.label}: session {session_id}"):
            if rowid in read:
                continue
            data = dict(zip(names, row, strict=True))
            if data["id"] is None and by_id:
                data["id"] = rowid
            if data["session_id"] is None:
                data["session_id"] = stored
            yield Record("messages", data["id"], data)

    def _listed(self, owned: str, value: Any) -> int | None:
        """Return how many messages of a session an index lists; None where none does."""
        if "session_id" not in self._messages.indexed:
            return None
        try:
            found: int = self._rows.query(f"SELECT count(*) FROM messages WHERE {owned}", (value,)).get
        except apsw.Error:
            return None
        return found

    def _by_table(self, stored: Any) -> int | None:
        """Return how many messages of a session the table itself has; None where they can't be counted."""
        if self._truth is None:
            self._truth = self._count_by_table()
            if self._seen is not None:
                self._tell_unread(self._truth, self._seen)
        return self._truth.get(stored, 0) if self._truth else None

    def _tell_unread(self, truth: Mapping[Any, int], seen: Container[str]) -> None:
        for owner, lost in truth.items():
            public = self._ids.public(owner)
            if public not in seen:
                self._fail()
                self._report(f"{self.label}: session {public}", "is in no index, and is not read: pages are damaged", lost)

    def _count_by_table(self) -> dict[Any, int]:
        tail = "FROM messages NOT INDEXED GROUP BY session_id COLLATE BINARY"
        try:
            return dict(self._rows.select(("session_id", "count(*)"), tail, where=f"{self.label}: messages"))
        except apsw.Error:
            # Whoever reads the rows meets the same.
            return {}

    def _compare(self, found: int, known: int, where: str) -> None:
        """Report messages that the table or an index knows of and that were not found."""
        if known > found:
            self._fail()
            lost = known - found
            self._report(where, f"{lost} of {known} could not be found, though they are known of: pages are damaged", lost)

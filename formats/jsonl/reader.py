"""
Reads JSON Lines exports: Satchel's own and Hermes' (`hermes sessions export`), one session a line.

The records of a line are the rows of a Hermes store. A line of ours gives them back as they stood; one of Hermes' gives what
Hermes wrote. The layout is docs/formats/jsonl.md.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from satchel.contracts import Claim, Dialect, Record, SessionInfo
from satchel.errors import JsonError, NotAStore, NotFound, StoreChanged, StoreError
from satchel.events import Listener, Problem, StoreOpened
from satchel.formats.hermes_info import ParentFacts, Tally, public_id, session_info
from satchel.formats.hermes_rows import canonical, number, state_of, text_of
from satchel.formats.jsonl.lines import BLANK, Bad, Segment, messages, parse, salvaged, segments, shell
from satchel.formats.jsonl.native import agent_of, faults, native, parts_of
from satchel.formats.jsonl.native import records as native_records
from satchel.formats.jsonl.readback import ReadBack, read_back
from satchel.formats.told import Told
from satchel.jsontext import loads

if TYPE_CHECKING:
    from satchel.formats.model import Entry

__all__ = ["JsonlStore", "ReadBack", "name", "open", "read_back", "sniff"]

name = "jsonl"

_HEAD = 1 << 16


def sniff(path: Path) -> Claim | None:
    """Say whether the file's first readable line is a session record: an object with an id and a list of messages."""
    try:
        if not path.is_file():
            return None
        with builtins.open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    at = 0
    for line in head.splitlines(keepends=True):
        start = line.lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"{"):
            if not line.endswith(b"\n") and len(head) == _HEAD:
                # A long line whose messages may stand further on.
                with builtins.open(path, "rb") as file:
                    file.seek(at)
                    start = file.readline()
            if b'"messages":' in start and b'"id":' in start and _is_record(start):
                return Claim(reader=name, why="lines of session records")
        at += len(line)
    return None


def _is_record(line: bytes) -> bool:
    """Say whether an id and messages are the line's own, and not of something inside it; a damaged line may be one."""
    try:
        value = loads(line)
    except JsonError:
        return True
    return isinstance(value, dict) and "id" in value and "messages" in value


def open(path: Path, *, listen: Listener, private: bool = False) -> JsonlStore:
    """
    Open an export.

    Args:
        private: Read from a private copy.

    Raises:
        StoreError: It can't be read.
        NotAStore: No line of it is a session.
    """
    try:
        file = builtins.open(path, "rb")  # noqa: SIM115
        if private or not os.path.isfile(path):
            import shutil
            import tempfile

            spool = tempfile.TemporaryFile(prefix="satchel-")  # noqa: SIM115
            with file:
                shutil.copyfileobj(file, spool, 1 << 20)
            return JsonlStore(path, spool, listen=listen, still=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    return JsonlStore(path, file, listen=listen, still=True)


class _Place(NamedTuple):
    """Where a session's line is, and what its children need to know of it."""

    number: int
    offset: int
    size: int
    started: float
    end: ParentFacts
    dialect: Dialect | None = None
    segments: int = 1


class JsonlStore:
    """An opened export: a file of sessions, found by one pass over its lines."""

    format = name
    agent = "hermes"
    dialect = "hermes"
    conversation = "messages"

    def __init__(self, path: Path, file: IO[bytes], *, listen: Listener, still: bool) -> None:
        self.path = path
        self.label = str(path)
        self.profile: str | None = None
        self._file = file
        self._listen = listen
        self._seen = _print(file) if still else None
        self._places: dict[str, _Place] = {}
        self._bad = 0
        self._told = Told(listen)
        self._last: tuple[int, bool, Mapping[str, Any], dict[str, Segment]] | None = None
        listen(StoreOpened(name, self.label, "line by line"))
        self._index()
        if not self._places:
            file.close()
            raise NotAStore(f"{path} holds no session records: no line has an id and a list of messages", subject=path)

    def __enter__(self) -> JsonlStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def check(self) -> None:
        """Raise StoreChanged if the file changed since it was opened."""
        if self._seen is not None and self._seen != _print(self._file):
            raise StoreChanged(f"{self.path} changed while it was read; try again", subject=self.path)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the file: JSON-ready."""
        size = os.fstat(self._file.fileno()).st_size
        return {"format": name, "path": self.label, "bytes": size, "sessions": len(self._places), "damaged_lines": self._bad}

    def sessions(self, *, counts: bool = True) -> Iterator[SessionInfo]:
        """Yield every session, by start and id."""
        order = sorted(self._places, key=lambda i: (self._places[i].started, i))
        return (self._info(session_id, counts) for session_id in order)

    def session(self, session_id: str, *, counts: bool = True) -> SessionInfo:
        """Return the session of exactly this id. Raises NotFound."""
        self._place(session_id)
        return self._info(session_id, counts)

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the session's rows as a Hermes store holds them: its own, those of other tables, its messages by id."""
        place = self._place(session_id)
        line, segment = self._session(session_id)
        bad = self._bad_at(place)
        yield from segment.facts(bad)
        yield from messages(line, segment, bad)

    def origin(self, session_id: str) -> Dialect | None:
        """Return the dialect of the records that a session was made of; None for one of Hermes. Raises NotFound."""
        return self._place(session_id).dialect

    def native(self, session_id: str) -> Iterator[Record] | None:
        """Yield these records, None where the line has none. What is wrong with them is told. Raises NotFound."""
        place = self._place(session_id)
        if place.dialect is None:
            return None
        line, segment = self._session(session_id, whole=False)
        extra = line["satchel"]
        if native(extra) is None and "native_parts" not in extra:
            return None
        wrong = faults(extra, place.segments)
        if wrong is not None:
            self._told(f"{self.label}:{place.number}", wrong, 1)
        return native_records(parts_of(extra, place.segments)[segment.at])

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield one entry for each record."""
        # Reading and copying rows needs no model.
        from satchel.formats.hermes_decode import decode

        return map(decode, records)

    canonical = staticmethod(canonical)

    # ------------------------------------------------------------------------------------------------------ lines

    def _index(self) -> None:
        self._file.seek(0)
        offset = 0
        for count, line in enumerate(self._file, 1):
            start, offset = offset, offset + len(line)
            if not line.strip(BLANK):
                continue
            try:
                found = segments(shell(line))
            except JsonError as error:
                self._bad += 1
                what = f"this line can't be read and is passed over: {error}"
                self._listen(Problem(f"{self.label}:{count}", what, "loss", 1))
                continue
            for segment in found:
                if segment.id in self._places:
                    first = self._places[segment.id].number
                    message = f"session {segment.id} stands on line {first} already; the first one is taken"
                    self._listen(Problem(f"{self.label}:{count}", message))
                    continue
                row = segment.row
                end = ParentFacts(
                    end_reason=text_of(row.get("end_reason")),
                    ended_at=number(row.get("ended_at")),
                    session_key=text_of(row.get("session_key")),
                )
                started = number(row.get("started_at")) or 0.0
                self._places[segment.id] = _Place(count, start, len(line), started, end, segment.dialect, len(found))

    def _place(self, session_id: str) -> _Place:
        place = self._places.get(session_id)
        if place is None:
            raise NotFound(f"{self.label} has no session {session_id}", subject=session_id)
        return place

    def _line(self, place: _Place) -> bytes:
        self._file.seek(place.offset)
        return self._file.read(place.size)

    def _session(self, session_id: str, *, whole: bool = True) -> tuple[Mapping[str, Any], Segment]:
        """Return the line a session stands on, with or without its messages, and the session. Raises StoreChanged."""
        place = self._places[session_id]
        try:
            if self._last is None or self._last[:2] != (place.offset, whole):
                line = self._line(place)
                try:
                    parsed = parse(line) if whole else shell(line)
                except JsonError:
                    # The line passed without its messages, so one of those is damaged.
                    parsed = salvaged(line)
                found = {segment.id: segment for segment in segments(parsed)}
                # A lineage's line is asked for once a segment: it is kept. Others are asked for once, and would only fill memory.
                self._last = (place.offset, whole, parsed, found) if len(found) > 1 else None
                return parsed, found[session_id]
            return self._last[2], self._last[3][session_id]
        except (JsonError, KeyError) as error:
            raise StoreChanged(f"{self.path} changed while it was read; try again", subject=self.path) from error

    def _bad_at(self, place: _Place) -> Bad:
        """Return what reports, once, that a part of a line can't be read."""

        def bad(what: str, error: Exception) -> None:
            self._told(f"{self.label}:{place.number}", f"{what} can't be read: {error}", 1)

        return bad

    def _info(self, session_id: str, counts: bool) -> SessionInfo:
        line, segment = self._session(session_id, whole=counts)
        tally, beside = None, 0
        if counts:
            states = {"live": 0, "compacted": 0, "rewound": 0}
            newest: float | None = None
            for record in messages(line, segment, self._bad_at(self._places[session_id])):
                states[state_of(record.data)] += 1
                beside += bool(record.data.get("sidechain"))
                time = number(record.data.get("timestamp"))
                newest = time if newest is None or (time is not None and time > newest) else newest
            tally = Tally(states["live"], states["compacted"], states["rewound"], newest)
        above = segment.row.get("parent_session_id")
        identify = public_id if segment.ours else None
        parent = self._places.get((identify(above) if identify and above is not None else text_of(above)) or "")
        info = session_info(
            segment.row, format=name, store=self.label, parent=parent.end if parent else None, tally=tally, identify=identify
        )
        info.damaged = segment.orphan
        if beside:
            info.extra = {**info.extra, "beside": beside}
        if segment.dialect is not None:
            info.agent, lineage = agent_of(segment.row, segment.dialect)
            info.lineage = lineage if lineage is not None and info.parent is not None else info.lineage
        return info


def _print(file: IO[bytes]) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns

"""
Makes one session of the files that tell of it.

The file with the most messages is the conversation. A transcript and a snapshot may each have messages that the other lacks,
since Hermes puts rows that its database did not take into a transcript: those stand where the other account has its gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_legacy.documents import BODY, MESSAGES, Document, value_of
from satchel.formats.hermes_legacy.files import LegacyFile
from satchel.formats.log_lines import LINE, LogFile, Report

__all__ = ["Plan", "document", "plan"]

Log = Callable[[LegacyFile], LogFile]
Documents = Callable[[LegacyFile], Document]
Reports = Callable[[LegacyFile], Report]

# What is taken for the conversation among files of as many messages: times are in transcripts alone.
_RANK = {"transcript": 3, "snapshot": 2, "saved": 1}


def document(file: LegacyFile, log: LogFile) -> Document:
    """Open a file that is one object. Raises StoreError."""
    return Document(log, BODY if file.kind == "request_dump" else MESSAGES)


def plan(files: Sequence[LegacyFile], log: Log, documents: Documents, reports: Reports) -> Plan:
    """Return which of a session's files is what."""
    pending = [file for file in files if file.kind == "pending"]
    telling = [file for file in files if file.kind != "pending"]
    if len(telling) < 2:
        return Plan(telling[0] if telling else None, None, [], pending, log, documents, reports)
    counted = [(file.kind != "request_dump", _count(file, log, documents), _RANK.get(file.kind, 0), file) for file in telling]
    main = max(counted, key=lambda each: each[:3])[3]
    others = [each for each in counted if each[3] is not main]
    kinds = ("snapshot", "saved") if main.kind == "transcript" else ("transcript",)
    second = max((each for each in others if each[3].kind in kinds and each[1]), key=lambda each: each[1:3], default=None)
    if main.kind == "request_dump":
        second = None
    beside = second[3] if second is not None else None
    rest = [each[3] for each in others if each[3] is not beside]
    return Plan(main, beside, rest, pending, log, documents, reports)


def _count(file: LegacyFile, log: Log, documents: Documents) -> int:
    """Return about how many messages a file has."""
    if file.kind == "transcript":
        return sum(b'"session_meta"' not in line[:64] and len(line) > 2 for line in log(file).lines())
    return documents(file).count


class Plan:
    """
    Which file is a session's conversation, and what of the others belongs into it.

    Attributes:
        main: The conversation; None when there is nothing but what was pending.
        second: Another account that may know more.
    """

    __slots__ = ("_documents", "_gaps", "_log", "_pending", "_reports", "_rest", "main", "second")

    def __init__(
        self,
        main: LegacyFile | None,
        second: LegacyFile | None,
        rest: Sequence[LegacyFile],
        pending: Sequence[LegacyFile],
        log: Log,
        documents: Documents,
        reports: Reports,
    ) -> None:
        self.main = main
        self.second = second
        self._rest = rest
        self._pending = pending
        self._log = log
        self._documents = documents
        self._reports = reports
        self._gaps: list[tuple[int, int]] = self._find_gaps() if main is not None and second is not None else []

    def facts(self, reports: Reports) -> Iterator[Record]:
        """Yield what the files say beside the conversation."""
        if self.main is not None and self.main.kind != "transcript":
            whole = self._documents(self.main)
            yield Record("document", self.main.name, whole.data, whole.rest)
        for file in self._rest if self.second is None else [self.second, *self._rest]:
            if file.kind == "transcript":
                gaps = {place for _, place in self._gaps} if file is self.second else set()
                for place, record in enumerate(self._lines(file, reports)):
                    if place not in gaps:
                        yield Record("transcript", f"{file.name}:{record.key}", record.data, record.raw)
            else:
                yield _whole(file, self._log(file), reports(file))

    def conversation(self, reports: Reports) -> Iterator[Record]:
        """Yield the messages, and what stands among them; at the end what nobody had taken up."""
        main = self._lines(self.main, reports) if self.main is not None else iter(())
        if self._gaps and self.second is not None:
            yield from self._filled(main, self._lines(self.second, reports))
        else:
            yield from main
        for file in self._pending:
            record = _whole(file, self._log(file), reports(file))
            yield Record(LINE, file.name, record.data, record.raw)

    def _lines(self, file: LegacyFile, reports: Reports) -> Iterator[Record]:
        if file.kind == "transcript":
            return self._log(file).records(report=reports(file))
        return self._documents(file).records(report=reports(file))

    def _filled(self, main: Iterable[Record], second: Iterable[Record]) -> Iterator[Record]:
        others = iter(second)
        gaps = iter([*self._gaps, (-1, -1)])
        after, wanted = next(gaps)
        read = 0

        def fill(position: int) -> Iterator[Record]:
            nonlocal after, wanted, read
            while wanted >= 0 and after <= position:
                yield from islice(others, wanted - read, wanted - read + 1)
                read = wanted + 1
                after, wanted = next(gaps)

        yield from fill(0)
        for position, record in enumerate(main, 1):
            yield record
            yield from fill(position)

    def _find_gaps(self) -> list[tuple[int, int]]:
        """Return where messages of the second account belong: behind how many records of the main one, and which they are."""
        from satchel.formats.hermes_legacy.compare import Key, key_of, paired
        from satchel.formats.hermes_legacy.decode import decode
        from satchel.formats.model import Message

        if self.main is None or self.second is None:
            return []

        def keys(file: LegacyFile) -> tuple[list[int], list[Key]]:
            places: list[int] = []
            found: list[Key] = []
            for place, entry in enumerate(decode(self._lines(file, self._reports))):
                if isinstance(entry, Message):
                    places.append(place)
                    found.append(key_of(entry))
            return places, found

        main_places, theirs = keys(self.main)
        places, ours = keys(self.second)
        matches = paired(ours, theirs)
        # A transcript goes on where a snapshot ends; a snapshot has what was before a transcript of leftovers.
        after = main_places[-1] + 1 if main_places and self.second.kind == "transcript" else 0
        if any(match is not None for match in matches):
            after = 0
        gaps: list[tuple[int, int]] = []
        for place, key, match in zip(places, ours, matches, strict=True):
            if match is not None:
                after = max(after, main_places[match] + 1)
            elif key.says:
                gaps.append((after, place))
        return gaps


def _whole(file: LegacyFile, log: LogFile, report: Report) -> Record:
    """Return a file that is one object as one record."""
    raw = b"".join(log.lines())
    try:
        data, odd = value_of(raw.rstrip(b"\0").removeprefix(b"\xef\xbb\xbf"))
    except JsonError:
        report(1, "the file is cut off, or damaged: it is kept as it stands", 1)
        return Record(file.kind, file.name, None, raw)
    if odd is not None:
        report(1, odd, 0)
    return Record(file.kind, file.name, data, raw)

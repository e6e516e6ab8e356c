"""
Takes a file that is one JSON object apart: what it says, and the messages in it, each with its bytes.

Hermes writes such a file with an indent of two spaces, so that every message begins and ends on a line of its own: those are cut
out without the whole being in memory. Any other spelling is read whole. A file that is cut off gives what is whole in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from typing import IO, Any

from satchel.contracts import Record
from satchel.errors import JsonError, StoreError
from satchel.formats.log_lines import BLANK, LINE, LogFile, Report
from satchel.jsontext import loads

__all__ = ["BODY", "MESSAGES", "Document", "Outline", "outline", "value_of"]

MESSAGES = (("messages",),)
"""Where the messages of a snapshot are: the keys on the way to them."""

BODY = (("request",), ("body",), ("messages", "input"))
"""Where those of a dumped request are."""

Way = Sequence[Sequence[str]]

_CHUNK = 1 << 20
_SMALL = 4 << 20
"""The messages of a file of so many bytes are cut out once, and held."""
_WHITE = re.compile("[\ufeff \t\r\n]*")
# Unescaped control characters break a rule of JSON, and no reading.
_decode_at = JSONDecoder(strict=False).raw_decode
_TORN = (JSONDecodeError, RecursionError, ValueError, IndexError)


@dataclass(slots=True)
class Outline:
    """
    What the beginning of a text of JSON says.

    Attributes:
        data: Its keys with their values, those on the way to the messages too; the messages are an empty list.
        keys: Its top-level keys, also one whose value is cut off.
        array: Where the messages begin, behind the bracket, and where the rest begins, at the bracket; None without any.
        items: Where each message begins and ends.
        spans: Where the value of each top-level key begins and ends.
        torn: Where what can't be read begins; None when it was read to its end.
    """

    data: dict[str, Any] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    array: tuple[int, int] | None = None
    items: list[tuple[int, int]] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    torn: int | None = None


class _Enough(Exception):
    pass


def outline(text: str, way: Way = MESSAGES, *, head: bool = False) -> Outline:
    """Return what a text of JSON says; with `head` no further than to its messages."""
    found = Outline()
    at = 0

    def spaces() -> None:
        nonlocal at
        match = _WHITE.match(text, at)
        at = match.end() if match else at

    def expect(char: str) -> None:
        nonlocal at
        if text[at] != char:
            raise ValueError(char)
        at += 1
        spaces()

    def array() -> None:
        nonlocal at
        begin = at + 1
        found.array = (begin, begin)
        if head:
            raise _Enough
        expect("[")
        while text[at] != "]":
            _, end = _decode_at(text, at)
            found.items.append((at, end))
            at = end
            found.array = (begin, at)
            spaces()
            if text[at] == ",":
                expect(",")
            elif text[at] != "]":
                raise ValueError("]")
        found.array = (begin, at)
        at += 1

    def members(way: Way, into: dict[str, Any], top: bool) -> None:
        nonlocal at
        expect("{")
        while text[at] != "}":
            key, end = _decode_at(text, at)
            if not isinstance(key, str):
                raise ValueError("key")
            at = end
            if top:
                found.keys.append(key)
            spaces()
            expect(":")
            begin = at
            on_it = bool(way) and key in way[0]
            if on_it and len(way) == 1 and text[at] == "[" and found.array is None:
                into[key] = []
                array()
            elif on_it and len(way) > 1 and text[at] == "{":
                into[key] = {}
                members(way[1:], into[key], False)
            else:
                into[key], at = _decode_at(text, at)
            if top:
                found.spans[key] = (begin, at)
            spaces()
            if text[at] == ",":
                expect(",")
            elif text[at] != "}":
                raise ValueError("}")
        at += 1

    spaces()
    try:
        members(way, found.data, True)
    except _Enough:
        pass
    except _TORN:
        found.torn = at
    else:
        rest = text[at:].strip("\ufeff \t\r\n\0")
        found.torn = at if rest else None
    return found


def value_of(raw: bytes) -> tuple[Any, str | None]:
    """Return what the bytes of one value say, and what is odd about them or None. Raises JsonError when they say nothing."""
    try:
        return loads(raw), None
    except JsonError:
        pass
    try:
        text, odd = raw.decode("utf-8"), "holds unescaped control characters"
    except UnicodeDecodeError:
        text, odd = raw.decode("utf-8", "replace"), "holds bytes that are not valid UTF-8; they are shown as U+FFFD"
    try:
        return loads(text), odd
    except JsonError:
        try:
            value, end = _decode_at(text, 0)
        except _TORN as error:
            raise JsonError(f"not JSON ({error})") from error
        if text[end:].strip():
            raise JsonError("not JSON (something stands behind the value)") from None
        return value, odd


class Document:
    """
    A file that is one JSON object with messages.

    Attributes:
        data: What it says, with an empty list for the messages; None where it could not be read.
        rest: Its bytes without the messages and what stands between them.
        count: How many messages it has.
        cut: Whether it ends too early, or is damaged.
        torn: The bytes from there on, but for those that say nothing.
    """

    __slots__ = ("_cut", "_indent", "_items", "_log", "_way", "_whole", "count", "cut", "data", "rest", "torn")

    def __init__(self, log: LogFile, way: Way = MESSAGES) -> None:
        self._log = log
        self._way = way
        self._whole = b""
        self._items: list[tuple[int, int]] = []
        self._cut: list[bytes] | None = None
        self._indent = b"\n" + b"  " * (len(way) + 1)
        self.cut = False
        self.torn = b""
        self.data: dict[str, Any] | None = None
        self.rest = b""
        self.count = 0
        self._take(self._by_lines() or self._by_parsing())

    def values(self) -> Iterator[bytes]:
        """Yield the bytes of each message."""
        if self._whole:
            for begin, end in self._items:
                yield self._whole[begin:end]
            return
        if self._cut is not None:
            yield from self._cut
            return
        with self._log.open() as file:
            head = _head(file, self._opening)
            if head is not None:
                yield from _Cutter(file, self._indent, head[1])

    def records(self, *, report: Report) -> Iterator[Record]:
        """Yield a record for each message, by number from 1; one that can't be read has None as its data."""
        number = 0
        values = self.values()
        for raw in values:
            number += 1
            data: Any = None
            try:
                data, odd = value_of(raw)
            except JsonError as error:
                if not self._whole:
                    # The lines of this file are not what they look like.
                    self._take(self._by_parsing())
                    yield from self._from(number, report)
                    return
                report(number, f"is no message ({error})", 1)
            else:
                if odd is not None:
                    report(number, odd, 0)
            yield Record(LINE, number, data, raw)
        if self.cut:
            said = self.data.get("message_count") if self.data else None
            lost = said - number if type(said) is int else 0
            report(number + 1, "the file is cut off, or damaged, from here on", max(lost, 1 if self.torn else 0))
        if self.torn:
            yield Record(LINE, number + 1, None, self.torn)

    def _from(self, number: int, report: Report) -> Iterator[Record]:
        return (record for record in self.records(report=report) if record.key >= number)

    def _take(self, found: tuple[dict[str, Any] | None, bytes, int]) -> None:
        self.data, self.rest, self.count = found

    # ------------------------------------------------------------------------------------------------ the usual spelling

    def _opening(self, line: bytes) -> bool:
        indent = self._indent[1:-2]
        return any(line.rstrip() == b'%s"%s": [' % (indent, key.encode()) for key in self._way[-1])

    def _by_lines(self) -> tuple[dict[str, Any], bytes, int] | None:
        """Return what the file is when it is spelled as Hermes does, else None."""
        try:
            with self._log.open() as file:
                head = _head(file, self._opening)
                if head is None:
                    return None
                cutter = _Cutter(file, self._indent, head[1])
                if self._log.size <= _SMALL:
                    self._cut = list(cutter)
                count = len(self._cut) if self._cut is not None else sum(1 for _ in cutter)
                if cutter.left is None:
                    return None
                tail = cutter.left + file.read()
        except OSError as error:
            raise StoreError(f"{self._log.path} cannot be read: {error.strerror or error}", subject=self._log.path) from error
        rest = head[0] + tail
        try:
            said = loads(rest.rstrip(b"\0"))
        except JsonError:
            return None
        place: Any = said
        for keys in self._way[:-1]:
            place = place.get(keys[0]) if isinstance(place, dict) else None
        if not isinstance(place, dict) or not any(place.get(key) == [] for key in self._way[-1]):
            return None
        return said, rest, count

    def _by_parsing(self) -> tuple[dict[str, Any] | None, bytes, int]:
        data = b"".join(self._log.lines())
        text = data.decode("utf-8", "surrogateescape")
        clean = text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text)
        found = outline(text, self._way)
        torn_at = len(text) if found.torn is None else found.torn
        self.cut = found.torn is not None
        self.torn = text[torn_at:].encode("utf-8", "surrogateescape")
        if not self.torn.strip(BLANK):
            self.torn = b""
        begin, end = found.array or (torn_at, torn_at)
        rest = text[:begin] + text[end:torn_at] if found.array else text[:torn_at]
        self._whole = data
        self._items = found.items if text.isascii() else list(_in_bytes(text, found.items))
        said = found.data if clean else _clean(found.data)
        return said if found.keys else None, rest.encode("utf-8", "surrogateescape"), len(found.items)


def _head(file: IO[bytes], opening: Callable[[bytes], bool]) -> tuple[bytes, bytes] | None:
    """Return what stands up to the bracket that opens the messages, and the line's end; None when there is none such."""
    lines: list[bytes] = []
    for line in file:
        lines.append(line)
        if opening(line):
            lines[-1] = line.rstrip()
            return b"".join(lines), line[len(lines[-1]) :]
    return None


class _Cutter:
    """
    Cuts the messages out of a file that stands behind the bracket which opens them.

    Attributes:
        left: What it read beyond them, from their end on; None when the file is not spelled as it should be.
    """

    def __init__(self, file: IO[bytes], indent: bytes, begun: bytes) -> None:
        self._file = file
        self._open, self._close, self._end = indent + b"{", indent + b"}", indent[:-2] + b"]"
        self._data = begun
        self.left: bytes | None = None

    def _more(self) -> bool:
        # A long message must not be looked through again and again.
        read = self._file.read(max(_CHUNK, len(self._data)))
        self._data += read
        return bool(read)

    def __iter__(self) -> Iterator[bytes]:
        at = 0
        between = b""
        while True:
            if len(self._data) - at < 64:
                self._data = self._data[at:]
                at = 0
                self._more()
            begin = self._data.find(self._open, at, at + len(self._open) + 8)
            if begin < 0 or self._data[at:begin].rstrip(b"\r") != between:
                break
            begin += len(self._open)
            if self._data[begin : begin + 1] not in (b"\r", b"\n"):
                return
            end = self._data.find(self._close, begin)
            while end < 0:
                self._data, begin = self._data[begin - 1 :], 1
                known = len(self._data) - len(self._close)
                if not self._more():
                    return
                end = self._data.find(self._close, max(begin, known))
            end += len(self._close)
            yield self._data[begin - 1 : end]
            at = end
            between = b","
        end = self._data.find(self._end, at, at + len(self._end) + 2)
        if end >= 0 and not self._data[at:end].strip(b"\r"):
            self.left = self._data[at:]


def _in_bytes(text: str, items: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield places in a text as places in its bytes."""
    at = octets = 0
    for begin, end in items:
        octets += len(text[at:begin].encode("utf-8", "surrogateescape"))
        size = len(text[begin:end].encode("utf-8", "surrogateescape"))
        yield octets, octets + size
        octets, at = octets + size, end


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value

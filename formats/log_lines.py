"""
Reads the lines of a log that an agent appends to: each a record, with its bytes as they stood.

A damaged line costs itself and no other. Where two writes ran into each other, the whole records in it are taken out; what is no
record is kept as it stands, so that the pieces of a file, joined, are the file.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Any

from satchel.contracts import Record
from satchel.errors import JsonError, StoreChanged, StoreError
from satchel.jsontext import canonical as as_canonical
from satchel.jsontext import loads

__all__ = ["BLANK", "KEPT", "LINE", "LITTLE", "LogFile", "Report", "canonical", "head_and_tail", "records_of", "unheard"]

LINE = "line"
"""The kind of the records of a log. One that is no JSON has None as its `data`, and its bytes in `raw`, as every one has."""

BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes of which a line may consist that says nothing."""

KEPT = "kept as it stands"
"""How what is told of a damaged line ends: nothing of it is lost."""

Report = Callable[[int, str, int], None]
"""
Hears of what is wrong with a line: its number, what it is, and how many records are lost by it; none is where its bytes are kept.
"""

# A pipe by the name of a log must not be waited for.
_HOW = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 20
LITTLE = 1 << 14
"""So many bytes are read at once where no more than the beginning of a file is wanted."""
_FAULTS = 100
"""After so many torn records on one line the rest of it is taken as one: to find each costs a look at all before it."""

_decode_at = JSONDecoder().raw_decode
_BLANKS = re.compile("[\ufeff \t\r\n]*")
_NULS = re.compile("\0+")


class LogFile:
    """
    A log, as long as it was when it was opened: what is appended meanwhile is for the next time.

    Args:
        ahead: So many bytes are read at once; a log that has no more is not opened again to look at it (`head_and_tail`).

    Raises:
        StoreError: It can't be read, or is no regular file.
    """

    __slots__ = ("_print", "_whole", "compressed", "modified", "path", "size")

    def __init__(self, path: Path, *, ahead: int = len(_ZSTD)) -> None:
        self.path = path
        fd, found = self._descriptor()
        try:
            begin = os.read(fd, ahead)
        finally:
            os.close(fd)
        self.compressed = begin.startswith(_ZSTD)
        self._whole = begin if found.st_size == len(begin) and not self.compressed else None
        self.size = found.st_size
        self.modified = found.st_mtime
        self._print = (found.st_dev, found.st_ino)

    def _descriptor(self) -> tuple[int, os.stat_result]:
        try:
            fd = os.open(self.path, _HOW)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}", subject=self.path) from error
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.close(fd)
            raise StoreError(f"{self.path} is no regular file", subject=self.path)
        return fd, found

    def _open(self, buffer: int) -> IO[bytes]:
        return open(self._descriptor()[0], "rb", buffering=buffer)

    def taken(self) -> bytes | None:
        """Return all of the log, where it was read when it was opened, and let go of it."""
        whole, self._whole = self._whole, None
        return whole

    def check(self) -> None:
        """Raise StoreChanged when the file is another one now, or shorter; one that grew still has what was read."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise StoreChanged(f"{self.path} went away while it was read", subject=self.path) from error
        grown = found.st_size >= self.size if not self.compressed else found.st_size == self.size
        if (found.st_dev, found.st_ino) != self._print or not grown:
            raise StoreChanged(f"{self.path} changed while it was read; try again", subject=self.path)

    def open(self, *, buffer: int = _BUFFER) -> IO[bytes]:
        """
        Open the text of the log, unpacked where it is compressed, from its first byte to where it ended.

        Args:
            buffer: So many bytes are read at once.
        """
        if not self.compressed:
            return io.BufferedReader(_Bounded(self._open(0), self.size), buffer)
        return io.BufferedReader(_Unpacked(self._open(buffer)), buffer)

    def lines(self) -> Iterator[bytes]:
        """
        Yield the lines as they stand, each with its end.

        Raises:
            StoreError: The file can't be read on: a device's fault, or a damaged compressed file.
        """
        with self.open() as file:
            try:
                yield from file
            except OSError as error:
                raise StoreError(
                    f"{self.path} cannot be read to its end: {error.strerror or error}", subject=self.path
                ) from error
            except Exception as error:
                if type(error).__name__ != "ZstdError":
                    raise
                raise StoreError(
                    f"{self.path} is damaged: it can't be unpacked to its end ({error})", subject=self.path
                ) from error

    def records(self, *, report: Report) -> Iterator[Record]:
        """Yield the records of the log in order; `key` is the 1-based number of the line. Blank lines are none."""
        number = 0
        try:
            for number, line in enumerate(self.lines(), 1):
                try:
                    data = loads(line)
                except JsonError as error:
                    if line.strip(BLANK):
                        yield from records_of(line, number, error, report=report)
                else:
                    yield Record(LINE, number, data, line)
        except StoreError as error:
            report(number + 1, error.message, 1)


class _Bounded(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        count: int = self._file.readinto(view) if len(view) else 0  # type: ignore[attr-defined]
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """What a zstd file holds, of one frame or several. Damage and an early end raise OSError."""

    def __init__(self, file: IO[bytes]) -> None:
        import zstandard

        self._file = file
        self._zstandard = zstandard
        self._frame: Any = None
        self._packed, self._plain = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            # A little at a time: a few bytes may stand for very many.
            packed = self._packed or self._file.read(LITTLE)
            if not packed and self._frame is not None:
                raise OSError("the compressed data end too early")
            if not packed:
                return 0
            if self._frame is None:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._plain = memoryview(self._frame.decompress(packed))
            except self._zstandard.ZstdError as error:
                raise OSError(f"the compressed data are damaged ({error})") from error
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._plain))
        buffer[:count] = self._plain[:count]
        self._plain = self._plain[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def records_of(line: bytes, number: int, error: JsonError, *, report: Report) -> Iterator[Record]:
    """Yield what a line holds that is no JSON as a whole: the records in it, and the bytes between them as damaged ones."""
    text = line.decode("utf-8", "surrogateescape")
    clean = text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text)
    if not clean:
        try:
            value = loads(line.decode("utf-8", "replace"))
        except JsonError:
            pass
        else:
            report(number, "this line holds bytes that are not valid UTF-8; they are shown as U+FFFD", 0)
            yield Record(LINE, number, value, line)
            return
    pieces = [(piece.encode("utf-8", "surrogateescape"), value) for piece, value in _pieces(text)]
    whole = sum(value is not None for _, value in pieces)
    torn = sum(value is None and not _says_nothing(piece) for piece, value in pieces)
    # The rest of a line that is no more looked into is one of them.
    damaged = "a damaged record stands" if torn == 1 else f"{torn:,} damaged records stand"
    is_enough = sum(value is None for _, value in pieces) > _FAULTS
    rest = f", and what follows the first {_FAULTS} of them is not looked into" if is_enough else ""
    if whole > 1 and not torn:
        report(number, f"{whole} records stand on this line; they are taken apart", 0)
    elif whole:
        what = f"{damaged} on this line beside {whole} whole{rest}" if torn else "NUL bytes stand on this line beside a record"
        report(number, f"{what}; what is whole is read, the rest is {KEPT}", 0)
    elif torn:
        what = "this line is cut off" if not line.endswith(b"\n") else f"this line is no record ({error})"
        what += f": {damaged} on it{rest}" if torn > 1 else ""
        report(number, f"{what}; it is {KEPT}", 0)
    else:
        report(number, f"this line holds nothing but NUL bytes; it is {KEPT}", 0)
    for piece, value in pieces:
        if value is not None and not clean:
            value = loads(piece.decode("utf-8", "replace"))
        yield Record(LINE, number, value, piece)


def canonical(record: Record) -> tuple[bytes]:
    """Return the line that stands for a record of a log in the content digest (docs/formats/digest.md)."""
    if record.data is not None:
        try:
            return (as_canonical(record.data) + b"\n",)
        except JsonError:
            if record.raw is None:
                raise
    # What is no JSON, or nested more deeply than can be written, is its bytes.
    return (as_canonical(record.raw) + b"\n",)


def _says_nothing(piece: bytes) -> bool:
    """Return whether a piece of a line is what a power cut leaves of a block that was not written."""
    return not piece.strip(BLANK + b"\0")


def _pieces(text: str) -> list[tuple[str, Any]]:
    """Cut a text into objects of JSON and what is none; joined they are the text."""
    out: list[tuple[str, Any]] = []
    at = begin = faults = 0
    while begin < len(text) and faults < _FAULTS:
        begin = _skip(text, begin)
        fault = end = begin
        value = None
        try:
            value, end = _decode_at(text, begin)
        except JSONDecodeError as error:
            fault = error.pos
        except (RecursionError, ValueError):
            break
        if isinstance(value, dict):
            end = _skip(text, end)
            if begin > at and (out or text[at:begin].strip()):
                out.append((text[at:begin], None))
                at = begin
            out.append((text[at:end], value))
            at = begin = end
            continue
        faults += 1
        following = _next_record(text, begin, fault)
        if following is None:
            break
        if following > at:
            out.append((text[at:following], None))
        at = begin = following
    if at < len(text):
        out.append((text[at:], None))
    return out


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _next_record(text: str, begin: int, fault: int) -> int | None:
    """
    Return where the next record may begin after a torn one, or None.

    The torn record's own parts must not pass for records: the next one begins where the fault was met, since its first quotation
    mark ended the text that was torn, or after bytes that no JSON holds.
    """
    nuls = _NULS.search(text, begin)
    if nuls is not None and nuls.start() <= fault:
        found = text.find('{"', nuls.end())
        return found if found >= 0 else None
    start = text.rfind('{"', begin + 1, fault + 2)
    if start < 0:
        return None
    try:
        value, end = _decode_at(text, start)
    except (JSONDecodeError, RecursionError, ValueError):
        return None
    # A whole record, and nothing but white space or another record behind it.
    rest = text[end:].lstrip()
    return start if isinstance(value, dict) and (not rest or rest.startswith('{"')) else None


def head_and_tail(log: LogFile, *, head: int = 1 << 16, tail: int = 1 << 15) -> tuple[list[bytes], list[bytes]]:
    """
    Return whole lines from the beginning of a log and from its end, as many as so many bytes hold; the first whatever it takes.

    A log that is short has all its lines in the first list. A compressed one is read to its end for the second.
    """
    if log.compressed:
        return _ends(log, head, tail)
    whole = log.taken()
    if whole is not None and len(whole) <= head + tail:
        return _cut(whole, whole=True), []
    if log.size <= head + tail:
        return list(log.lines()), []
    with log.open(buffer=LITTLE) as file:
        first = file.readlines(head)
    read = sum(map(len, first))
    at = max(read, log.size - tail)
    with open(log.path, "rb") as file:
        file.seek(at)
        last = _cut(file.read(log.size - at), whole=at == read)
    return first, last


def _cut(data: bytes, *, whole: bool) -> list[bytes]:
    """Cut bytes into lines; the first one is left out unless it is whole."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    return lines if whole else lines[1:]


def _ends(log: LogFile, head: int, tail: int) -> tuple[list[bytes], list[bytes]]:
    from collections import deque

    first: list[bytes] = []
    last: deque[bytes] = deque()
    read = kept = 0
    for line in log.lines():
        if read < head:
            first.append(line)
            read += len(line)
            continue
        last.append(line)
        kept += len(line)
        while kept > tail and len(last) > 1:
            kept -= len(last.popleft())
    return first, list(last)


def unheard(number: int, what: str, lost: int) -> None:
    """Hear nothing of a line, where another reading of it tells."""

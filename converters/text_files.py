"""
Files of text as they are redacted: what they are packed in, how they are written, and the parts in which they are looked at.

A part is a JSON document, a line of JSON Lines, or a window of other text with some of what stands before and after it, so that
a key over several lines is seen whole.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Literal, NamedTuple

from satchel import jsontext
from satchel.errors import JsonError, StoreChanged, StoreError
from satchel.formats.regular import open_regular

__all__ = ["Packing", "Piece", "TextFile", "is_json", "packed", "pieces"]

_WINDOW = 1 << 18
_AROUND = 1 << 14
"""Characters of a text that are seen on either side of what is being redacted: a key's block, a wrapped line."""
_DOCUMENT = 8 << 20
"""A longer document is gone through as a text: nothing that is longer is opened in a record either."""
_LINE = 8 << 20
_HEAD = 1 << 16

Packing = Literal["", "gzip", "zstd"]


class Piece(NamedTuple):
    """A part of a text: `text[begin:end]` is new, the rest was there before or comes again. `line` is where `text` begins."""

    text: str
    begin: int
    end: int
    line: int


def _packing(head: bytes) -> Packing:
    return "gzip" if head.startswith(b"\x1f\x8b") else "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else ""


def _bare(path: Path | IO[bytes]) -> io.FileIO:
    """Open a file at its beginning; of one that is open already one reader at a time."""
    if isinstance(path, Path):
        return open_regular(path)
    file = io.FileIO(os.dup(path.fileno()), "rb")
    file.seek(0)
    return file


def _opened(stack: ExitStack, path: Path | IO[bytes], packing: Packing) -> IO[bytes]:
    raw = stack.enter_context(io.BufferedReader(_bare(path), 1 << 20))
    if packing == "gzip":
        return stack.enter_context(io.BufferedReader(gzip.GzipFile(fileobj=raw), 1 << 20))
    if packing == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        return stack.enter_context(io.BufferedReader(reader, 1 << 20))
    return raw


class TextFile:
    """
    A file to be gone over twice: it has to be the same each time.

    Attributes:
        name: How it is called; `session` is the same without the folders above it, for a report.
        packing: What it is packed in.
        encoding: Of its text; bytes that are none in UTF-8 come and go as they are.
        is_text: Whether it is to be redacted at all.
        document: It is one JSON text over several lines.
        mode: Its permissions.
    """

    def __init__(self, path: Path | IO[bytes], name: str) -> None:
        self._path = path
        self.name = name
        # A report says nothing of the folders above.
        self.session = name if not os.path.isabs(name) and not name.startswith("..") else os.path.basename(name)
        with _bare(path) as file:
            found = os.fstat(file.fileno())
            self.packing: Packing = _packing(file.read(4))
        self.mode = stat.S_IMODE(found.st_mode)
        self.size = found.st_size
        self._print = (found.st_ino, found.st_size, found.st_mtime_ns)
        head = self._head()
        self.encoding = _encoding(head)
        self.is_text = self.encoding != "utf-8" or b"\0" not in head
        self.document = self._is_document(head)

    def _head(self) -> bytes:
        with ExitStack() as stack:
            return _read(_opened(stack, self._path, self.packing), _HEAD, self.name)

    def _is_document(self, head: bytes) -> bool:
        """Return whether the file is one JSON text over several lines."""
        if not self.is_text or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            return False
        first, _, rest = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
        if not rest.strip() and len(head) < _HEAD:
            return False
        if is_json(first):
            return False
        with ExitStack() as stack:
            data = _read(_opened(stack, self._path, self.packing), _DOCUMENT + 1, self.name)
        return len(data) <= _DOCUMENT and is_json(data)

    def check(self) -> None:
        """Raise StoreChanged where the file is not what it was."""
        found = os.stat(self._path if isinstance(self._path, Path) else self._path.fileno())
        if (found.st_ino, found.st_size, found.st_mtime_ns) != self._print:
            raise StoreChanged(f"{self.name} changed while it was read: nothing of it was written; run again", subject=self.name)

    def data(self) -> Iterator[bytes]:
        """Yield the file's own bytes, packed as they are."""
        with ExitStack() as stack:
            file = _opened(stack, self._path, "")
            while data := _read(file, 1 << 20, self.name):
                yield data

    def chunks(self) -> Iterator[str]:
        """Yield the text in pieces of any size; bytes that are no text come back by `surrogateescape`."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        decoder = codecs.getincrementaldecoder(self.encoding)(errors)
        with ExitStack() as stack:
            file = _opened(stack, self._path, self.packing)
            while data := _read(file, 1 << 20, self.name):
                yield decoder.decode(data)
            yield decoder.decode(b"", True)

    def encoded(self, text: str) -> bytes:
        """Return a piece of the text as it stands in the file."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return text.encode(self.encoding, errors)


def _read(file: IO[bytes], size: int, name: str) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise StoreError(f"{name} can't be read: {error.strerror or error}", subject=name) from error
    except Exception as error:  # zlib.error, EOFError, ZstdError: each library has its own.
        raise StoreError(f"{name} can't be unpacked: it is damaged or cut off ({type(error).__name__})", subject=name) from error


def _encoding(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-8"


def is_json(text: bytes | str) -> bool:
    try:
        return isinstance(jsontext.loads_quick(text), dict | list)
    except JsonError:
        return False


def pieces(source: TextFile) -> Iterator[Piece]:
    """Yield the parts in which a text is seen: the document, lines of JSON, and windows of other text in their surroundings."""
    if source.document:
        text = "".join(source.chunks())
        yield Piece(text, 0, len(text), 1)
        return
    held: list[str] = []
    size, line = 0, 1
    windows = _Windows()
    for text in _lines(source.chunks()):
        stripped = text.strip(" \t\r\n\ufeff")
        if len(stripped) >= 16 and stripped[0] + stripped[-1] in ("{}", "[]") and is_json(stripped):
            yield from windows.rest(held)
            held, size = [], 0
            windows = _Windows(line + 1)
            yield Piece(text, 0, len(text), line)
        else:
            held.append(text)
            size += len(text)
            if size >= _WINDOW:
                yield from windows.add("".join(held))
                held, size = [], 0
        line += text.count("\n")
    yield from windows.rest(held)


def _lines(chunks: Iterator[str]) -> Iterator[str]:
    """Yield lines, cut at line feeds; one that is too long for a window comes in parts."""
    rest: list[str] = []
    size = 0
    for chunk in chunks:
        *lines, last = chunk.split("\n")
        for text in lines:
            yield "".join([*rest, text, "\n"]) if rest else f"{text}\n"
            rest, size = [], 0
        rest.append(last)
        size += len(last)
        if size > _LINE:
            yield "".join(rest)
            rest, size = [], 0
    if size:
        yield "".join(rest)


class _Windows:
    """Cuts a text into parts, each shown with some of what is before and after it."""

    def __init__(self, line: int = 1) -> None:
        self._text = ""
        self._begin = 0
        self._line = line

    def add(self, text: str) -> Iterator[Piece]:
        self._text += text
        if len(self._text) - self._begin >= _WINDOW + _AROUND:
            end = self._text.rfind("\n", self._begin, len(self._text) - _AROUND) + 1
            end = end if end > self._begin else len(self._text) - _AROUND
            yield Piece(self._text, self._begin, end, self._line)
            start = max(0, end - _AROUND)
            self._line += self._text.count("\n", 0, start)
            self._text = self._text[start:]
            self._begin = end - start

    def rest(self, held: list[str]) -> Iterator[Piece]:
        self._text += "".join(held)
        if self._begin < len(self._text):
            yield Piece(self._text, self._begin, len(self._text), self._line)


@contextmanager
def packed(packing: Packing, write: Callable[[bytes], object]) -> Generator[Callable[[bytes], object]]:
    """Give what packs bytes as the original was packed, and writes them; the same bytes give the same."""
    if not packing:
        yield write
        return
    if packing == "zstd":
        import zstandard

        packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj()
        yield lambda data: write(packer.compress(data))
        write(packer.flush())
        return
    import zlib

    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    total, check = 0, 0
    write(head)

    def add(data: bytes) -> None:
        nonlocal total, check
        total, check = total + len(data), zlib.crc32(data, check)
        write(squeeze.compress(data))

    yield add
    write(squeeze.flush())
    write(check.to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little"))

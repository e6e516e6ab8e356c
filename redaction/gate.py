"""
The last look at what is written: whatever a writer hands over is searched once more before it reaches a file.

What is searched for is what strong rules find, and what is known of the family of sessions that is being written, in any form. A
hit is an error, and nothing gets its final name. A writer hands over what it has of a session before `add` returns: so what comes
between two families is of the first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from satchel.contracts import Stream, Target, share
from satchel.errors import JsonError, RedactionError
from satchel.jsontext import loads
from satchel.redaction import media
from satchel.redaction.nested import Sieve, edits
from satchel.redaction.registry import Hit, Registry
from satchel.redaction.spans import STRONG, Span

__all__ = ["Gate", "GatedTarget"]

_OVERLAP = 16 << 10
_BEFORE = 512
_BEHIND = 8 << 10
_PIECE = 1 << 20
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_LONGEST = 1 << 20
_QUOTES = 4096
_REST_OF_STRING = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_LONG = 128
"""A run of base64 that is shorter is no media."""


class _Finder(Protocol):
    def find(self, text: str, /) -> list[Span]: ...

    def leaks(self, data: bytes, /) -> Iterable[tuple[int, str]]: ...


class _Report(Protocol):
    gate: str


class Gate:
    """
    Searches what is written.

    Args:
        engine: Finds what strong rules know.
        registry: What is known of the family that is being written.
        allows: Says of a value and the rule that found it whether it may stay.
    """

    def __init__(
        self,
        engine: _Finder,
        registry: Registry,
        *,
        allows: Callable[[str, str], bool] = lambda value, rule: False,
        report: _Report | None = None,
    ) -> None:
        self._report = report
        if report is not None:
            report.gate = "passed"
        self._engine = engine
        self._registry = registry
        self._allows = allows
        self.session = ""
        """Whose text is being written, as it is called in the output."""
        self.searched = 0
        """Bytes that passed."""
        self._sieve = Sieve(self._judge)

    def __repr__(self) -> str:
        return "Gate()"

    def check(self, data: bytes, name: str, *, in_media: bool = False, new: int = 0) -> None:
        """
        Search a piece of output.

        Args:
            name: Of the file, as people know it.
            in_media: The piece begins within base64 of media.
            new: How many bytes at its beginning were searched before.

        Raises:
            RedactionError: Something is in it that should not be.
        """
        self.searched += len(data) - new
        if self._registry.is_looked_for:
            for hit in self._registry.find_in(data):
                if not self._allows(hit.value, hit.rule):
                    self._fail(hit.rule, name, "what was found in this session")
        for at, rule in self._engine.leaks(data):
            if not _in_media(data, at, begins=in_media) and self._is_found(data, at):
                self._fail(rule, name, "what the rule finds")

    def _is_found(self, data: bytes, at: int) -> bool:
        """Return whether what stands at a place is a finding where it is looked at as the redactor does, string by string."""
        said = _string_around(data, at)
        if said is not None:
            return any(edit.hit.strength >= STRONG for edit in edits(said, self._sieve))
        begin = max(0, at - _BEFORE)
        before = data[begin:at].decode("utf-8", "surrogateescape")
        text = before + data[at : at + _BEHIND].decode("utf-8", "surrogateescape")
        return any(hit.strength >= STRONG and hit.end > len(before) for hit in self._judge(text, (), 0))

    def _judge(self, text: str, names: tuple[str, ...], mode: int) -> list[Hit]:
        spans = self._engine.find(text)
        hits = [Hit(span.start, span.end, span.rule, span.strength, text[span.start : span.end]) for span in spans]
        return [hit for hit in hits if not self._allows(hit.value, hit.rule)]

    def _fail(self, rule: str, name: str, what: str) -> None:
        if self._report is not None:
            self._report.gate = "failed"
        of = f", at session {self.session[:80]}" if self.session else ""
        raise RedactionError(
            f"{name or 'the output'}{of}: {what} is still in what was to be written (rule {rule}); nothing of it was kept",
            subject=self.session or name or None,
        )

    def ends_in_media(self, data: bytes, *, begins: bool = False) -> bool:
        """Return whether a piece ends within base64 of media, so that what follows belongs to it."""
        run = len(data.rstrip(_BASE64))
        if run == 0:
            return begins or media.BEGINS.match(data) is not None
        return media.BEGINS.match(data, run) is not None

    def text(self, text: bytes, name: str, /) -> bytes:
        """Return a text that is written as a whole, once it is searched. Raises RedactionError."""
        self.check(text, name)
        return text

    def over(self, target: Target) -> GatedTarget:
        """Return a target whose streams are searched."""
        return GatedTarget(target, self)


def _string_around(data: bytes, at: int) -> str | None:
    """Return what the string of JSON says that a place is in, None where it is in none, or not whole."""
    begin, tries = at, 0
    while True:
        begin = data.rfind(b'"', max(0, begin - _LONGEST), begin)
        tries += 1
        if begin < 0 or tries > _QUOTES:
            return None
        head = data[max(0, begin - 64) : begin]
        if (len(head) - len(head.rstrip(b"\\"))) % 2 == 0:
            break
    match = _REST_OF_STRING.match(data, at)
    if match is None:
        return None
    try:
        said = loads(data[begin : match.end()])
    except JsonError:
        return None
    return said if isinstance(said, str) else None


def _in_media(data: bytes, at: int, *, begins: bool) -> bool:
    """Return whether a place lies in a long run of base64 that begins as a picture, a sound or a document does."""
    begin = len(data[:at].rstrip(_BASE64))
    match = _BASE64_RUN.match(data, begin)
    if match is None or match.end() <= at or match.end() - begin < _LONG:
        return False
    return (begin == 0 and begins) or media.BEGINS.match(data, begin) is not None


class GatedStream:
    """A stream whose bytes are searched before they go on."""

    __slots__ = ("_gate", "_in_media", "_parts", "_tail", "_waiting", "inner")

    def __init__(self, inner: Stream, gate: Gate) -> None:
        self.inner = inner
        self._gate = gate
        self._tail = b""
        self._in_media = False
        self._parts: list[bytes] = []
        self._waiting = 0

    @property
    def name(self) -> str:
        """The file's name; "" for a pipe."""
        return self.inner.name

    def write(self, data: bytes, /) -> None:
        """Take bytes. Raises RedactionError."""
        self._parts.append(data)
        self._waiting += len(data)
        if self._waiting >= _PIECE:
            self.flush()

    def flush(self) -> None:
        """Search what waits, and hand it on."""
        if not self._parts:
            return
        data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts, self._waiting = [], 0
        tail = self._tail
        piece = tail + data if tail else data
        gate = self._gate
        gate.check(piece, self.name, in_media=self._in_media, new=len(tail))
        kept = piece[-_OVERLAP:]
        before = piece[: len(piece) - len(kept)]
        if before:
            self._in_media = gate.ends_in_media(before, begins=self._in_media)
        self._tail = kept
        self.inner.write(data)

    def search(self, data: bytes, /) -> None:
        """Search bytes that are not written as they are, or not now. Raises RedactionError."""
        self._gate.check(data, self.name)

    def write_searched(self, data: bytes, /) -> None:
        """Hand on bytes that were searched in another form."""
        self.settle()
        self.inner.write(data)

    def settle(self) -> None:
        """Search and hand on what waits; what comes next is judged by what is known then, and begins anew."""
        self.flush()
        self._tail, self._in_media = b"", False


class GatedTarget:
    """A target whose streams are searched; one family's bytes are searched by what is known of that family."""

    def __init__(self, target: Target, gate: Gate) -> None:
        self._target = target
        self._gate = gate
        self._open: list[GatedStream] = []

    def stream(self, name: str | None = None, /) -> GatedStream:
        """Start a file. Raises what the target raises."""
        stream = GatedStream(self._target.stream(name), self._gate)
        self._open.append(stream)
        return stream

    def finish(self, stream: Stream, /) -> None:
        """Search and hand on what is left, and finish the file. Raises RedactionError, and what the target raises."""
        if isinstance(stream, GatedStream):
            stream.flush()
            if stream in self._open:
                self._open.remove(stream)
            self._target.finish(stream.inner)
        else:
            self._target.finish(stream)

    def whole(self, name: str, data: bytes, /) -> None:
        """Write a file at once, searched."""
        share(self._target, name, self._gate.text(data, name))

    def settle(self) -> None:
        """Search and hand on what waits in every stream: another family comes. Raises RedactionError."""
        for stream in self._open:
            stream.settle()

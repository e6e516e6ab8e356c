"""A file while it is written: gathered into large pieces, hashed and counted on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from satchel.errors import TargetError
from satchel.manifest.paths import shown

__all__ = ["PIECE", "FileEntry", "HashingStream"]

PIECE = 1 << 18
"""Bytes written at once: a piece should stay in the processor's own cache until it is out."""


class FileEntry(NamedTuple):
    """A finished file: its name relative to the target, its size in bytes, and its SHA-256 in lower-case hex."""

    path: str
    bytes: int
    sha256: str


class HashingStream:
    """
    A file being written, hashed on the way.

    Small writes are gathered into pieces of about 256 KiB; one of that size or more goes through without a copy.

    Attributes:
        name: Relative name; "" for a pipe.
        bytes: Bytes written out so far; complete once the stream is finished.
        sha256: SHA-256 in lower-case hex, "" until the stream is finished.
    """

    __slots__ = ("_broken", "_digest", "_limit", "_parts", "_sink", "_waiting", "bytes", "name", "sha256")

    def __init__(self, name: str, sink: Callable[[bytes], None]) -> None:
        self.name = name
        self.bytes = 0
        self.sha256 = ""
        self._sink = sink
        self._broken = False
        self._digest = hashlib.sha256()
        self._parts: list[bytes] = []
        self._waiting = 0
        self._limit = PIECE

    def write(self, data: bytes, /) -> None:
        """Append bytes. Raises TargetError when they cannot be written."""
        self._parts.append(data)
        self._waiting += len(data)
        if self._waiting >= self._limit:
            self._spill()

    def _spill(self) -> None:
        if self.sha256:
            raise TargetError(f"{shown(self.name) or 'stdout'} is finished, nothing more can be written to it", subject=self.name)
        parts, self._parts, self._waiting = self._parts, [], 0
        last = parts.pop() if len(parts[-1]) >= PIECE else b""
        self._broken = True  # until all is out: a stream that lost bytes must not be finished
        for piece in (parts[0] if len(parts) == 1 else b"".join(parts), last):
            if piece:
                self._digest.update(piece)
                self._sink(piece)
                self.bytes += len(piece)
        self._broken = False

    def _finish(self) -> None:
        if self._broken:
            raise TargetError(f"{shown(self.name) or 'stdout'} cannot be finished: a write to it failed", subject=self.name)
        if self._parts:
            self._spill()
        self.sha256 = self._digest.hexdigest()
        self._limit = 0

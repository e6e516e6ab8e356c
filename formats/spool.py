"""Pieces that wait for their turn: in memory up to a bound, then in an unnamed temporary file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from satchel.errors import TargetError

__all__ = ["Spool"]

_MOST = 2 << 20


class Spool:
    """
    Pieces in the order in which they came.

    Attributes:
        items: How many there are.
        bytes: How many bytes they have.
    """

    def __init__(self) -> None:
        self.items = 0
        self.bytes = 0
        self._waiting: list[bytes] = []
        self._file: IO[bytes] | None = None

    def add(self, item: bytes) -> None:
        """Take a piece. Raises TargetError when the temporary file can't be written."""
        self.items += 1
        self._waiting.append(item)
        self.bytes += len(item)
        if self.bytes > _MOST or self._file is not None:
            import tempfile

            try:
                # From here on nothing waits: long-lived items between others would leave holes in memory.
                self._file = self._file or tempfile.TemporaryFile(prefix="satchel-")  # noqa: SIM115
                for waiting in self._waiting:
                    self._file.write(b"%d\n" % len(waiting))
                    self._file.write(waiting)
            except OSError as error:
                folder = tempfile.gettempdir()
                raise TargetError(
                    f"temporary files can't be written to {folder}: {error.strerror}; set TMPDIR", subject=folder
                ) from error
            self._waiting.clear()

    def pour(self, put: Callable[[bytes], object], between: bytes = b"") -> None:
        """Give every piece to `put`, in order."""
        first = True
        for item in self._all():
            if between and not first:
                put(between)
            first = False
            put(item)

    def _all(self) -> Iterator[bytes]:
        if self._file is not None:
            self._file.seek(0)
            while size := self._file.readline():
                yield self._file.read(int(size))
        yield from self._waiting

    def close(self) -> None:
        """Let go of them."""
        if self._file is not None:
            self._file.close()

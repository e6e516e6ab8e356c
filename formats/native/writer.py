"""
Writes the files of a session as their agent left them: byte for byte, or line by line where something was removed from them.

A folder keeps the layout of the store, so that the agent finds in a copy what it finds in the original.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from satchel.contracts import Contents, Export, SessionView, Stream, Target, Written
from satchel.errors import StoreChanged, StoreError, TargetError, UsageError
from satchel.events import Listener, Problem
from satchel.formats.model import Message
from satchel.formats.parted import rows
from satchel.formats.regular import open_regular
from satchel.jsontext import dumps
from satchel.naming import safe_id

__all__ = ["file_name", "layout", "name", "open", "suffix"]

name = "native"
layout: Literal["directory"] = "directory"
suffix = ".jsonl"
file_name = ""

_CHUNK = 1 << 20
_HEAD = 1 << 13
_PACKED = ".zst"
_ZSTD = b"\x28\xb5\x2f\xfd"


def open(target: Target, *, options: Mapping[str, Any], listen: Listener) -> Export:
    """
    Start an export.

    Raises:
        UsageError: An option is given; there is none.
    """
    if options:
        raise UsageError(f"the format native has no option {sorted(options)[0]}")
    return NativeExport(target, listen)


class NativeExport:
    """A folder of files."""

    def __init__(self, target: Target, listen: Listener) -> None:
        self._target = target
        self._listen = listen
        self._written: dict[str, Path | None] = {}

    def __enter__(self) -> NativeExport:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def add(self, session: SessionView) -> Written:
        """Write the session's files, but for those that an earlier session has written."""
        counts = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}
        first: str | None = None
        for segment in range(len(session.ids)):
            if session.dialect == "hermes":
                raise UsageError(
                    f"session {session.ids[segment]} has no file of its own: the format native takes sessions that come from "
                    "logs; use jsonl",
                    subject=session.ids[segment],
                )
            # A session whose lines stand among those of others, as in a history of prompts, gets a file for them.
            files: list[tuple[str, Path | None]] = [*session.files(segment)]
            files = files or [(safe_id(session.ids[segment]) + suffix, None)]
            if session.redacted:
                # What is cleaned is written unpacked.
                files = [(relative.removesuffix(_PACKED), path) for relative, path in files]
            named = {self._name(relative, path): path for relative, path in files}
            first = first or next(iter(named))
            if None in named.values() or (session.redacted and not isinstance(session, Contents)):
                self._write_records(session, segment, next(iter(named)))
            else:
                for name, path in named.items():
                    self._copy(name, path, session)
            for entry in session.entries(segment):
                if isinstance(entry, Message):
                    counts[entry.state] += rows(entry)
        rewound = counts["rewound"] + counts["sidechain"]
        return Written(file=first, messages=counts["live"], compacted=counts["compacted"], rewound=rewound)

    def _name(self, relative: str, path: Path | None) -> str:
        """Return the name of a file in the folder; two stores may have files of the same name."""
        found, number = relative, 1
        while found in self._written and (path is None or self._written[found] != path):
            number += 1
            found = f"store-{number}/{relative}"
        return found

    def _copy(self, named: str, path: Path | None, session: SessionView) -> None:
        if named in self._written or path is None:
            return
        self._written[named] = path
        extent = session.extent(path)
        try:
            file = open_regular(path)
        except OSError as error:
            self._listen(Problem(str(path), f"it can't be copied: {error.strerror or error}", "loss", 1))
            return
        with file:
            if session.redacted and _is_binary(file):
                what = "it is left out: it is no text, so that nobody can tell what is in it"
                self._listen(Problem(str(path), what, "loss", 1))
                return
            try:
                stream = self._target.stream(named)
            except TargetError as error:
                self._listen(Problem(str(path), f"it can't be copied: {error.message}", "loss", 1))
                return
            cleaned = session.contents(path) if session.redacted and isinstance(session, Contents) else None
            for piece in cleaned or _pieces(file, path, extent):
                stream.write(piece)
        self._target.finish(stream)

    def _write_records(self, session: SessionView, segment: int, main: str) -> None:
        """Write the records of a session: its lines as one file, and each file beside it."""
        streams: dict[str, Stream] = {}
        for record in session.records(segment):
            named = main if record.kind == "line" else os.path.join(os.path.dirname(main), str(record.key))
            if named not in streams:
                if named in self._written:
                    continue
                streams[named] = self._target.stream(named)
            data = record.raw if record.raw is not None else dumps(record.data)
            streams[named].write(data if data.endswith(b"\n") else data + b"\n")
        for named, stream in streams.items():
            self._written[named] = None
            self._target.finish(stream)


def _is_binary(file: io.FileIO) -> bool:
    """Return whether a file is no text: no session, though it lies with one. Raises nothing."""
    head = file.read(_HEAD) or b""
    file.seek(0)
    if head.startswith(_ZSTD):
        return False
    text = head.decode("utf-8", "replace")
    return text.count("\ufffd") + text.count("\0") > len(text) // 8


def _pieces(file: io.FileIO, path: Path, extent: int | None) -> Iterator[bytes]:
    """Yield so many bytes of a file, or as many as it has now: what was appended meanwhile is for the next time."""
    try:
        left = os.fstat(file.fileno()).st_size if extent is None else extent
        while left and (piece := file.read(min(left, _CHUNK))):
            left -= len(piece)
            yield piece
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    if left:
        raise StoreChanged(f"{path} is shorter than it was: it changed while it was read; try again", subject=path)

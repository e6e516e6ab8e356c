"""What stands in for the pipeline in tests of writers: a view of sessions as they are, and a target in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel.contracts import Files, Origins, Record, SessionInfo, Store, Writer, Written
from satchel.digest import ContentDigest
from satchel.events import ignore
from satchel.formats.jsonl import writer as jsonl
from satchel.formats.model import Entry

__all__ = ["MemoryTarget", "View", "exported", "upstream_line"]


class MemoryStream:
    """A stream that keeps what is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[bytes] = []
        self.finished = False

    def write(self, data: bytes, /) -> int:
        self.parts.append(bytes(data))
        return len(data)


class MemoryTarget:
    """A target that keeps its streams."""

    def __init__(self) -> None:
        self.streams: list[MemoryStream] = []

    def stream(self, name: str | None = None, /) -> MemoryStream:
        self.streams.append(MemoryStream(name or ""))
        return self.streams[-1]

    def finish(self, stream: Any, /) -> None:
        stream.finished = True

    @property
    def data(self) -> bytes:
        """All bytes that were written."""
        return b"".join(part for stream in self.streams for part in stream.parts)


class View:
    """Sessions of a store as a writer gets them, unredacted; `digests` has those of the segments that were read to their end."""

    def __init__(self, store: Store, *ids: str) -> None:
        self._store = store
        self.ids: Sequence[str] = ids
        self.dialect = store.dialect
        self.redacted = False
        self.digests: dict[str, str] = {}

    @property
    def segments(self) -> Sequence[SessionInfo]:
        return [self._store.session(session_id, counts=False) for session_id in self.ids]

    @property
    def info(self) -> SessionInfo:
        return self.segments[-1]

    def records(self, segment: int = -1, /) -> Iterator[Record]:
        session_id = self.ids[segment]
        digest = ContentDigest(self._store.canonical)
        for record in self._store.records(session_id):
            digest.add(record)
            yield record
        self.digests[session_id] = digest.hexdigest()

    def entries(self, segment: int = -1, /) -> Iterator[Entry]:
        return self._store.decode(self.records(segment))

    def files(self, segment: int = -1, /) -> Iterator[tuple[str, Path]]:
        if isinstance(self._store, Files):
            yield from self._store.files(self.ids[segment])

    def extent(self, path: Path, /) -> int | None:
        return None

    def origin(self, segment: int = -1, /) -> str | None:
        if self.dialect != "hermes":
            return self.dialect
        return self._store.origin(self.ids[segment]) if isinstance(self._store, Origins) else None

    def native(self, segment: int = -1, /) -> Iterator[Record] | None:
        if self.dialect != "hermes":
            return self.records(segment)
        return self._store.native(self.ids[segment]) if isinstance(self._store, Origins) else None


def exported(
    store: Store, *groups: str | Sequence[str], writer: Writer = jsonl, options: Mapping[str, Any] | None = None
) -> tuple[bytes, list[Written], dict[str, str]]:
    """
    Export sessions, or every session of a store; a group of several ids is one lineage.

    Return the bytes, what the writer said of each, and the content digest of every session.
    """
    target = MemoryTarget()
    written: list[Written] = []
    digests: dict[str, str] = {}
    with writer.open(target, options=options or {}, listen=ignore) as export:
        for group in groups or [info.id for info in store.sessions(counts=False)]:
            view = View(store, *([group] if isinstance(group, str) else group))
            written.append(export.add(view))
            digests |= view.digests
    assert all(stream.finished for stream in target.streams)
    return target.data, written, digests


def upstream_line(records: Sequence[Record]) -> str:
    """Return the line that Hermes' own export writes of a session: `json.dumps` of its live rows, decoded as Hermes does it."""
    session = next(dict(record.data) for record in records if record.kind == "sessions")
    session["messages"] = []
    for record in records:
        if record.kind == "messages" and record.data.get("active", 1) in (1, None):
            row = {"id": record.data["id"], **record.data}
            if isinstance(row["content"], str) and row["content"].startswith("\0json:"):
                row["content"] = json.loads(row["content"][6:])
            row["tool_calls"] = json.loads(row["tool_calls"]) if row.get("tool_calls") else row.get("tool_calls")
            session["messages"].append(row)
    return json.dumps(session, ensure_ascii=False) + "\n"

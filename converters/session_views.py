"""
Sessions as writers get them: redacted, and read from their store as they are iterated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from satchel.contracts import Dialect, Extents, Files, Origins, Record, Redactor, Scoped, SessionInfo, Store
from satchel.digest import ContentDigest
from satchel.errors import JsonError, StoreChanged, StoreError
from satchel.jsontext import loads
from satchel.redaction.placeholders import PLACEHOLDER

if TYPE_CHECKING:
    from satchel.formats.log_lines import LogFile
    from satchel.formats.model import Entry

__all__ = ["Family", "View"]


class View:
    """
    A session as a writer gets it: redacted, its records and entries read as they are iterated.

    `digests` holds, by position, the source digest and the content digest of each segment that was read to its end; `agent` is
    who wrote the session.
    """

    def __init__(
        self,
        store: Store,
        ids: Sequence[str],
        redactor: Redactor | None,
        *,
        agent: str | None = None,
        family: Family | None = None,
    ) -> None:
        self._store = store
        self._family = family
        self.agent = store.agent if agent is None else agent if redactor is None else redactor.text(agent)
        self._redactor = redactor
        self._ids = ids
        self.ids: Sequence[str] = [_identifier(session_id, redactor) for session_id in ids]
        self.dialect = store.dialect
        self.redacted = redactor is not None
        self._segments: list[SessionInfo] | None = None
        self.digests: dict[int, tuple[str, str]] = {}

    @property
    def source_ids(self) -> Sequence[str]:
        """The ids of the segments as the store has them."""
        return self._ids

    @property
    def segments(self) -> list[SessionInfo]:
        """What the scan says of each segment, root first."""
        if self._segments is None:
            infos = [self._store.session(session_id, counts=False) for session_id in self._ids]
            self._segments = [_redacted(info, self._redactor) for info in infos]
        return self._segments

    @property
    def info(self) -> SessionInfo:
        """What the scan says of the newest segment."""
        return self.segments[-1]

    def records(self, segment: int = -1) -> Iterator[Record]:
        """Yield the records of a segment, redacted."""
        store, redactor = self._store, self._redactor
        at = segment % len(self._ids)
        if at in self.digests:
            # It was read to its end before, and a store gives the same each time.
            again = store.records(self._ids[at])
            yield from again if redactor is None else self._applied(at, again)
            return
        source = ContentDigest(store.canonical, conversation=store.conversation)
        take = source.add
        if redactor is None:
            # The digest's own loop, opened up: it runs once for every message.
            conversation, canonical = store.conversation, store.canonical
            update = None
            for record in store.records(self._ids[at]):
                if record.kind == conversation:
                    if update is None:
                        update = source.begin_conversation()
                    for piece in canonical(record):
                        update(piece)
                else:
                    take(record)
                yield record
            digest = source.hexdigest()
            self.digests[at] = (digest, digest)
            return
        if isinstance(redactor, Scoped):
            yield from self._scoped(at, source)
            return
        content = ContentDigest(store.canonical, conversation=store.conversation)
        for record in redactor.apply(_taken(store.records(self._ids[at]), source)):
            content.add(record)
            yield record
        self.digests[at] = (source.hexdigest(), content.hexdigest())

    def kin(self) -> tuple[SessionInfo | None, Sequence[SessionInfo]]:
        """Return the session this one came from and those that came from it, as far as the same run writes them."""
        if self._family is None:
            return None, ()
        parent, children = self._family.around(self._ids)
        redactor = self._redactor
        return parent and _redacted(parent, redactor), [_redacted(child, redactor) for child in children]

    def _applied(self, segment: int, records: Iterator[Record]) -> Iterator[Record]:
        """Yield records of a segment, redacted."""
        assert self._redactor is not None
        if isinstance(self._redactor, Scoped):
            self._redactor.enter(self._ids[segment])
        yield from self._redactor.apply(records)

    def _scoped(self, at: int, source: ContentDigest) -> Iterator[Record]:
        """Yield the records of a segment; up to the first one that changes, both digests are one."""
        content: ContentDigest | None = None
        waiting: deque[Record] = deque()

        def taken() -> Iterator[Record]:
            for record in self._store.records(self._ids[at]):
                waiting.append(record)
                yield record

        for record in self._applied(at, taken()):
            original = waiting.popleft()
            if content is None and record is not original:
                content = source.copy()
            source.add(original)
            if content is not None:
                content.add(record)
            yield record
        digest = source.hexdigest()
        self.digests[at] = (digest, content.hexdigest() if content is not None else digest)

    def entries(self, segment: int = -1) -> Iterator[Entry]:
        """Yield the entries of a segment."""
        return self._store.decode(self.records(segment))

    def files(self, segment: int = -1) -> Iterator[tuple[str, Path]]:
        """Yield the files that a segment consists of."""
        if isinstance(self._store, Files):
            for name, path in self._store.files(self._ids[segment]):
                yield _file_name(self._redactor.text(name)) if self._redactor is not None else name, path

    def contents(self, path: Path) -> Iterator[bytes]:
        """Yield what a file of the session holds, as far as it is read, redacted. Raises StoreError, RedactionError."""
        from satchel.formats.log_lines import LogFile

        log, extent = LogFile(path), self.extent(path)
        if extent is not None:
            if log.size < extent:
                raise StoreChanged(f"{path} is shorter than it was: it changed while it was read; try again", subject=path)
            # What was appended meanwhile was not learned, and is for the next time.
            log.size = extent
        if self._redactor is None:
            return log.lines()
        if not isinstance(self._redactor, Scoped):
            raise StoreError(f"{path} can't be redacted as a file by this redactor", subject=path)
        return self._redactor.file(log.lines(), whole=_is_one_value(log))

    def extent(self, path: Path) -> int | None:
        """Return how many bytes of one of these files are read; None where all of it is."""
        return self._store.extent(path) if isinstance(self._store, Extents) else None

    def origin(self, segment: int = -1) -> Dialect | None:
        """Return the dialect of the agent's own records of a segment; None where that is Hermes'."""
        if self.dialect != "hermes":
            return self.dialect
        said = self._store.origin(self._ids[segment]) if _has_origins(self._store) else None
        return said if said is None or self._redactor is None else self._redactor.text(said)

    def native(self, segment: int = -1) -> Iterator[Record] | None:
        """Yield the agent's own records of a segment, redacted; None where there are none."""
        if self.dialect != "hermes":
            return self.records(segment)
        kept = self._store.native(self._ids[segment]) if _has_origins(self._store) else None
        return kept if kept is None or self._redactor is None else self._applied(segment, kept)


class Family:
    """The sessions of one family that a run writes: who came from whom is looked up when it is first asked."""

    def __init__(self, store: Store, members: Sequence[Sequence[str]]) -> None:
        self._store = store
        self._members = members
        self._found: tuple[dict[str, SessionInfo], dict[str, list[SessionInfo]]] | None = None

    def around(self, ids: Sequence[str]) -> tuple[SessionInfo | None, list[SessionInfo]]:
        """Return the parent and the children of the item that has these segments."""
        if len(self._members) < 2:
            return None, []
        if self._found is None:
            by_id: dict[str, SessionInfo] = {}
            by_parent: dict[str, list[SessionInfo]] = {}
            for segments in self._members:
                tip = self._store.session(segments[-1], counts=False)
                by_id |= dict.fromkeys(segments, tip)
                parent = tip.parent if len(segments) == 1 else self._store.session(segments[0], counts=False).parent
                if parent is not None:
                    by_parent.setdefault(parent, []).append(tip)
            self._found = by_id, by_parent
        by_id, by_parent = self._found
        own = set(ids)
        above = self._store.session(ids[0], counts=False).parent
        parent_info = by_id.get(above) if above is not None and above not in own else None
        return parent_info, [child for one in ids for child in by_parent.get(one, ()) if child.id not in own]


def _taken(records: Iterator[Record], digest: ContentDigest) -> Iterator[Record]:
    for record in records:
        digest.add(record)
        # The JSON made for the digest is of the record as it was.
        record.json = record.exact = None
        yield record


_origins: dict[type, bool] = {}


def _has_origins(store: Store) -> TypeGuard[Origins]:
    """Return whether a store says whose its sessions were; its type is asked once, since that takes long."""
    known = _origins.get(type(store))
    if known is None:
        known = _origins[type(store)] = isinstance(store, Origins)
    return known


def _redacted(info: SessionInfo, redactor: Redactor | None) -> SessionInfo:
    if redactor is None:
        return info
    clean: dict[str, Any] = {"extra": _clean(info.extra, redactor)}
    for f in fields(info):
        value = getattr(info, f.name)
        if isinstance(value, str):
            clean[f.name] = _identifier(value, redactor) if f.name in _IDS else redactor.text(value)
    return replace(info, **clean)


_IDS = frozenset(["id", "parent", "session_key", "chat_id"])


def _identifier(text: str, redactor: Redactor | None) -> str:
    if redactor is None:
        return text
    return redactor.identifier(text) if isinstance(redactor, Scoped) else redactor.text(text)


def _clean(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, Mapping):
        return {_clean(key, redactor): _clean(item, redactor) for key, item in value.items()}
    return [_clean(item, redactor) for item in value] if isinstance(value, list | tuple) else value


def _file_name(name: str) -> str:
    """Return a redacted name of a file with placeholders that every file system takes."""
    return PLACEHOLDER.sub(r"redacted-\1-\2", name)


def _is_one_value(log: LogFile) -> bool:
    """Return whether a file is one value of JSON over several lines."""
    lines = log.lines()
    first = next(lines, b"")
    try:
        loads(first)
    except JsonError:
        return first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and next(lines, None) is not None
    return False

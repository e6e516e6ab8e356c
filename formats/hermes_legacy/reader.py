"""
Reads the sessions that Hermes Agent keeps in files: transcripts, snapshots, saved conversations, dumped requests.

Several files may tell of one session. The one with the most messages is the conversation; what a transcript or a snapshot has
beside it stands in its place; the others are facts. The layout is docs/formats/hermes-legacy.md.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import compress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from satchel.contracts import Claim, Record, SessionInfo, Store, Usage
from satchel.errors import NotAStore, NotFound, StoreError
from satchel.events import Listener, StoreOpened
from satchel.formats.hermes_legacy.documents import Document
from satchel.formats.hermes_legacy.files import LegacyFile, identify, is_home, names, roots, routing, single, time_of_id
from satchel.formats.hermes_legacy.merge import Plan, document, plan
from satchel.formats.hermes_rows import number, text_of
from satchel.formats.log_lines import KEPT, LINE, LogFile, canonical
from satchel.formats.log_store import counted, is_live
from satchel.formats.told import Told
from satchel.naming import safe_id

if TYPE_CHECKING:
    from satchel.formats.model import Entry, Message

__all__ = ["LegacyStore", "name", "open", "own_name", "sniff"]

name = "legacy"

REST = "files:"
"""How the id begins of a session that is what a database lacks of another."""


def sniff(path: Path) -> Claim | None:
    """Say whether the path is a file that Hermes wrote a session into, or a folder of them."""
    try:
        if path.is_dir():
            return Claim(reader=name, why="a folder with Hermes' session files") if is_home(path) else None
        if not path.is_file():
            return None
        found = single(path)
    except (OSError, StoreError):
        return None
    return Claim(reader=name, why=f"a {found.kind.replace('_', ' ')} of a Hermes session") if found is not None else None


def own_name(path: Path) -> str | None:
    """Return the name that Hermes would give a file; of a transcript nothing but its name says whose it is."""
    found = single(path)
    before = {"snapshot": "session_", "saved": "session_", "request_dump": "request_dump_"}
    if found is None or found.kind not in before:
        return "stdin.jsonl"
    return f"{before[found.kind]}{safe_id(found.id)}.json"


def open(
    path: Path,
    *,
    listen: Listener,
    private: bool = False,
    known: Callable[[str], bool] | None = None,
    database: Store | None = None,
) -> LegacyStore:
    """
    Open a file, a folder of session files, or a home.

    Args:
        private: Read every file from a private copy.
        known: Says whether a database holds the session of this id; such ones are not listed, but are there by their id.
        database: The database itself, in the place of `known`: what it lacks of those sessions can then be told.

    Raises:
        StoreError: It can't be read.
        NotAStore: There is no session in it.
    """
    return LegacyStore(path, listen=listen, private=private, known=known, database=database)


class LegacyStore:
    """Opened session files: all of a home, of a folder, or one."""

    format = name
    agent = "hermes"
    dialect = "legacy"
    conversation = LINE

    def __init__(
        self,
        path: Path,
        *,
        listen: Listener,
        private: bool = False,
        known: Callable[[str], bool] | None = None,
        database: Store | None = None,
    ) -> None:
        self.path = path
        self.label = str(path)
        self.profile: str | None = None
        self.database = database
        if database is not None:
            known = {info.id for info in database.sessions(counts=False)}.__contains__
        self._known = known or (lambda _: False)
        self._only: dict[str, list[bool]] = {}
        self._now = time.time()
        self._exits = ExitStack()
        self._folder: Path | None = None
        self._private = private
        self._tell = Told(listen)
        self._damaged: set[str] = set()
        self._logs: dict[str, LogFile] = {}
        self._extents: dict[Path, int] = {}
        self._plans: dict[str, Plan] = {}
        self._last: tuple[LegacyFile, Document] | None = None
        self._files: dict[str, list[LegacyFile]] = {}
        self._routing: dict[str, list[tuple[str, Any, bytes]]] = {}
        listen(StoreOpened(name, self.label, "file by file"))
        if os.path.isdir(path):
            self._look_around()
        else:
            self._add(single(path) or single(path, sure=False))
        if not self._files and self._tell.lost is not None:
            raise StoreError(f"{path} cannot be read: {self._tell.lost}", subject=path)
        if not self._files:
            raise NotAStore(f"{path} holds no session files of Hermes", subject=path)

    def __enter__(self) -> LegacyStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._exits.close()

    # ------------------------------------------------------------------------------------------------ the files

    def _look_around(self) -> None:
        found = roots(self.path)
        if found.routing is not None and os.path.lexists(found.routing):
            try:
                self._routing, wrong = routing(found.routing)
            except StoreError as error:
                wrong = error.message
            if wrong is not None:
                self._tell(str(found.routing), wrong, 1)
        folders = [*found.sessions, *([(found.pending, "pending_messages/")] if found.pending else [])]
        for folder, prefix in folders:
            if not os.path.lexists(folder):
                continue
            try:
                listed = list(names(folder))
            except OSError as error:
                if not isinstance(error, NotADirectoryError):
                    self._tell(str(folder), f"it can't be looked into, and is left out: {error.strerror or error}", 1)
                continue
            for each in listed:
                self._take(folder / each, prefix + each)

    def _take(self, path: Path, relative: str) -> None:
        try:
            found = identify(path, relative)
        except StoreError as error:
            self._tell(str(path), error.message, 1)
            return
        if found is None:
            self._tell(str(path), "it is no session of Hermes, and is left out", 0)
        self._add(found)

    def _add(self, found: LegacyFile | None) -> None:
        if found is None:
            return
        if found.kind == "pending" and not found.id:
            key = found.head.get("session_key")
            found.id = self._owner(key) or f"pending:{key or found.name}"
        self._files.setdefault(found.id, []).append(found)

    def _owner(self, session_key: Any) -> str | None:
        """Return the session that the routing names for a chat."""
        return next((i for i, entries in self._routing.items() if any(key == session_key for key, _, _ in entries)), None)

    def _log(self, file: LegacyFile) -> LogFile:
        log = self._logs.get(file.name)
        if log is None:
            path = file.path
            if self._private:
                path = self._copy(path)
            log = self._logs[file.name] = LogFile(path)
            self._extents[path] = log.size
        return log

    def _document(self, file: LegacyFile) -> Document:
        # The last one is kept: its facts are asked for first, then its messages.
        if self._last is None or self._last[0] is not file:
            self._last = (file, document(file, self._log(file)))
        return self._last[1]

    def _copy(self, path: Path) -> Path:
        import shutil
        import tempfile

        if self._folder is None:
            self._folder = Path(self._exits.enter_context(tempfile.TemporaryDirectory(prefix="satchel-")))
        copy = self._folder / str(len(self._logs))
        try:
            shutil.copyfile(path, copy)
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
        return copy

    def check(self) -> None:
        """Raise StoreChanged if a file that was read is another one now, or shorter."""
        if not self._private:
            for log in self._logs.values():
                log.check()

    def files(self, session_id: str) -> Iterator[tuple[str, Path]]:
        """Yield the files of a session, each by its name relative to the store, and its path. Raises NotFound."""
        return ((file.name, self._log(file).path) for file in self._of(session_id))

    def extent(self, path: Path) -> int | None:
        """Return how many bytes of one of these files are read: as many as it had when it was opened."""
        return self._extents.get(path)

    def facts(self) -> dict[str, Any]:
        """Return what is known of the files: JSON-ready."""
        every = [file for files in self._files.values() for file in files]
        kinds = sorted({file.kind for file in every})
        return {
            "format": name,
            "path": self.label,
            "sessions": sum(not self._known(session_id) for session_id in self._files),
            "in_database": sum(map(self._known, self._files)),
            "files": {kind: sum(file.kind == kind for file in every) for kind in kinds},
            "bytes": sum(file.size for file in every),
            "routing": sum(map(len, self._routing.values())),
        }

    # ------------------------------------------------------------------------------------------------ sessions

    def sessions(self, *, counts: bool = True) -> Iterator[SessionInfo]:
        """Yield every session that no database holds, by start and id."""
        order = sorted((self._start(i) or 0.0, i) for i in self._files if not self._known(i))
        return (self._info(session_id, counts) for _, session_id in order)

    def session(self, session_id: str, *, counts: bool = True) -> SessionInfo:
        """Return the session of exactly this id, also one that a database holds, or what it lacks of one. Raises NotFound."""
        self._of(session_id)
        if self.is_rest(session_id):
            return self._rest(session_id, counts)
        return self._info(session_id, counts)

    def in_both(self) -> list[str]:
        """Return the ids of the sessions that a database holds too."""
        return sorted(filter(self._known, self._files))

    def _of(self, session_id: str) -> list[LegacyFile]:
        files = self._files.get(session_id[len(REST) :] if self.is_rest(session_id) else session_id)
        if files is None:
            raise NotFound(f"{self.label} has no session {session_id}", subject=session_id)
        return files

    def _start(self, session_id: str) -> float | None:
        files = self._files[session_id]
        said = [file.started for file in files if file.started is not None]
        if said:
            return min(said)
        of_id = time_of_id(session_id)
        return of_id if of_id is not None else min((f.first for f in files if f.first is not None), default=None)

    def _info(self, session_id: str, counts: bool) -> SessionInfo:
        files = self._files[session_id]
        entry = self._entry(session_id)
        origin = entry.get("origin")
        origin = origin if isinstance(origin, dict) else {}

        def said(key: str) -> str | None:
            values = (file.head.get(key) for file in files)
            return next((value for value in values if isinstance(value, str) and value), None)

        started = self._start(session_id)
        info = SessionInfo(
            id=session_id,
            format=name,
            agent=self.agent,
            store=self.label,
            profile=self.profile,
            source=said("platform") or _text(entry.get("platform")) or _text(origin.get("platform")) or "legacy",
            started_at=started,
            live=any(is_live(self._now, file.modified) for file in files),
            model=said("model"),
            user=_text(origin.get("user_id")),
            chat_id=_text(origin.get("chat_id")),
            chat_type=_text(entry.get("chat_type")) or _text(origin.get("chat_type")),
            session_key=_text(entry.get("session_key")),
            usage=_usage(entry),
            cost=number(entry.get("estimated_cost_usd")),
            extra={"files": [file.kind for file in files]}
            | ({"display_name": entry["display_name"]} if entry.get("display_name") else {}),
        )
        return self._counted(info) if counts else info

    def _entry(self, session_id: str) -> dict[str, Any]:
        """Return what the routing says of a session; for one in several chats the newest that is said."""
        entries = [entry for _, entry, _ in self._routing.get(session_id, ())]
        return max(entries, key=lambda entry: str(entry.get("updated_at") or "")) if entries else {}

    def _counted(self, info: SessionInfo) -> SessionInfo:
        from satchel.formats.hermes_legacy.decode import decode, moment

        times = [moment(file.head.get("last_updated")) for file in self._of(info.id)]
        newest = max((t for t in times if t is not None), default=None)
        info = counted(info, decode(self._conversation(info.id)), newest=newest)
        info.damaged = info.id in self._damaged
        return info

    # ------------------------------------------------------------------------------------------------ records

    def records(self, session_id: str) -> Iterator[Record]:
        """Yield the session's facts: routing, other files, what its document says beside messages; then the conversation."""
        self._of(session_id)
        if self.is_rest(session_id):
            # The rest is in the database.
            yield from self._conversation(session_id)
            return
        for key, entry, raw in self._routing.get(session_id, ()):
            yield Record("routing", key, entry, raw)
        yield from self._plan(session_id).facts(self._told_of(session_id))
        yield from self._conversation(session_id)

    def _conversation(self, session_id: str) -> Iterator[Record]:
        if self.is_rest(session_id):
            whole = session_id[len(REST) :]
            return compress(self._conversation(whole), self._lacking(whole))
        return self._plan(session_id).conversation(self._told_of(session_id))

    def _plan(self, session_id: str) -> Plan:
        found = self._plans.get(session_id)
        if found is None:
            found = self._plans[session_id] = plan(self._files[session_id], self._log, self._document, self._told_of(session_id))
        return found

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield one entry for each record: a message for a line that is one, a note for any other."""
        from satchel.formats.hermes_legacy.decode import decode

        return decode(records)

    canonical = staticmethod(canonical)

    def only_here(self, session_id: str, database_messages: Iterable[Message]) -> Iterator[Message]:
        """
        Yield the messages of a session that a database lacks, in order.

        Messages are the same by role, text and calls, each as often as it is there; see `compare.paired`. Raises NotFound.
        """
        from satchel.formats.hermes_legacy.decode import decode
        from satchel.formats.model import Message

        self._of(session_id)
        records = compress(self._conversation(session_id), self._unlike(session_id, database_messages))
        yield from (entry for entry in decode(records) if isinstance(entry, Message))

    def lacking(self, session_id: str) -> Iterator[Message]:
        """Yield the messages of a session that the database lacks; none of a session that is not here."""
        from satchel.formats.hermes_legacy.decode import decode
        from satchel.formats.model import Message

        if session_id in self._files:
            records = compress(self._conversation(session_id), self._lacking(session_id))
            yield from (entry for entry in decode(records) if isinstance(entry, Message))

    def rest(self, session_id: str) -> SessionInfo | None:
        """Return what the database lacks of a session as a session of its own; None where it has everything."""
        if session_id not in self._files or not self._known(session_id) or not any(self._lacking(session_id)):
            return None
        return self._rest(REST + session_id, counts=False)

    def is_rest(self, session_id: str) -> bool:
        """Return whether this is the id of such a session."""
        return session_id.startswith(REST) and session_id not in self._files

    def _rest(self, session_id: str, counts: bool) -> SessionInfo:
        whole = session_id[len(REST) :]
        info = self._info(whole, counts=False)
        # Tokens and cost are the whole session's, and counted there.
        info = replace(info, id=session_id, parent=whole, lineage="child", usage=Usage(), cost=None)
        return self._counted(info) if counts else info

    def _lacking(self, session_id: str) -> list[bool]:
        """Say of each record of a conversation whether the database lacks what it says."""
        from satchel.formats.model import Message

        found = self._only.get(session_id)
        if found is None:
            messages: Iterable[Message] = ()
            if self.database is not None and self._known(session_id):
                entries = self.database.decode(self.database.records(session_id))
                messages = (entry for entry in entries if isinstance(entry, Message))
            found = self._unlike(session_id, messages)
            # Of most there is nothing to keep.
            self._only[session_id] = found = found if any(found) else []
        return found

    def _unlike(self, session_id: str, messages: Iterable[Message]) -> list[bool]:
        """Say of each record of a conversation whether it is a message that is none of these, or what nobody can read."""
        from satchel.formats.hermes_legacy.compare import key_of, paired
        from satchel.formats.hermes_legacy.decode import decode
        from satchel.formats.model import Message

        theirs = [key_of(message) for message in messages]
        ours = [
            key_of(entry) if isinstance(entry, Message) else entry.kind in ("damaged", "unknown")
            for entry in decode(self._conversation(session_id))
        ]
        keys = [key for key in ours if not isinstance(key, bool)]
        alone = iter([key.says and place is None for key, place in zip(keys, paired(keys, theirs), strict=True)])
        return [key if isinstance(key, bool) else next(alone) for key in ours]

    def drift(self) -> dict[str, dict[str, int]]:
        """Return how often what is not known stands in the files; they do not name the version that wrote them."""
        from satchel.formats.hermes_legacy.known import in_document, in_line

        found: dict[str, int] = {}
        for session_id, files in self._files.items():
            told = self._told_of(session_id)
            for file in files:
                said: list[str] = []
                log = self._log(file)
                if file.kind == "transcript":
                    lines = log.records(report=told(file))
                elif file.kind == "pending":
                    lines = iter(())
                    said += in_document(file.kind, document(file, log).data)
                else:
                    whole = document(file, log)
                    said += in_document(file.kind, whole.data)
                    lines = whole.records(report=told(file))
                for what in (*said, *(what for record in lines for what in in_line(record.data))):
                    found[what] = found.get(what, 0) + 1
        return {"unknown": dict(sorted(found.items()))} if found else {}

    # ------------------------------------------------------------------------------------------------ problems

    def _told_of(self, session_id: str) -> Callable[[LegacyFile], Callable[[int, str, int], None]]:
        def of(file: LegacyFile) -> Callable[[int, str, int], None]:
            def report(line: int, what: str, lost: int) -> None:
                if lost or what.endswith(KEPT):
                    self._damaged.add(session_id)
                self._tell(f"{file.path}:{line}", what, lost)

            return report

        return of


def _text(value: Any) -> str | None:
    return text_of(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def _usage(entry: dict[str, Any]) -> Usage:
    def tokens(key: str) -> int:
        return int(number(entry.get(key)) or 0)

    return Usage(
        input=tokens("input_tokens"),
        output=tokens("output_tokens"),
        cache_read=tokens("cache_read_tokens"),
        cache_write=tokens("cache_write_tokens"),
        reasoning=tokens("reasoning_tokens"),
    )

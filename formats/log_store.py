"""
What stores have in common whose sessions are logs in a folder: how they are found, opened, counted, and what is told of them.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from satchel.contracts import Claim, Record, SessionInfo, Usage
from satchel.errors import JsonError, NotAStore, NotFound, StoreChanged, StoreError
from satchel.events import Listener, StoreOpened
from satchel.formats.log_lines import LINE, LITTLE, LogFile, canonical, unheard
from satchel.formats.model import Entry, Message, ToolCall
from satchel.formats.parted import rows
from satchel.formats.prompt_history import History
from satchel.formats.told import Told
from satchel.jsontext import loads

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

__all__ = [
    "LogStore",
    "Tell",
    "blocked",
    "counted",
    "entries",
    "first_objects",
    "given_away",
    "is_live",
    "open_tree",
    "second",
    "silent",
    "sniff_tree",
]

Tell = Callable[[str, str], None]
"""Hears of a place that can't be looked into, and why."""

_LIVE = 600.0
"""Seconds: a file that was written to so lately may be written to still."""
_HEAD = 1 << 16
_LONGEST = 64 << 20
"""A line that is longer, in bytes, is not looked at as a whole."""
_LOOKS = 2_000
_FOLDERS = 20_000


def silent(where: str, what: str) -> None:
    """Take no notice of a place that can't be looked into."""


def entries(folder: Path, tell: Tell) -> list[os.DirEntry[str]]:
    """Return what is in a folder, by name; nothing where there is none, or where it can't be looked into, which is told."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        tell(str(folder), f"it can't be looked into, and is left out: {error.strerror or error}")
        return []


def blocked(home: Path, names: Iterable[str]) -> str | None:
    """
    Say why nobody can tell whether there are sessions in a home: a folder or file that can't be looked into; None where all can.

    Args:
        names: Of the folders in it that hold sessions.
    """
    faults: list[OSError] = []

    def hear(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            faults.append(error)

    try:
        os.scandir(home).close()
    except OSError as error:
        hear(error)
    looks = 0
    for name in names if not faults else ():
        for folder, _, files in os.walk(home / name, onerror=hear):
            for path in (os.path.join(folder, file) for file in files if file.endswith((".json", ".jsonl", ".zst"))):
                if not os.access(path, os.R_OK):
                    hear(PermissionError(errno.EACCES, os.strerror(errno.EACCES), path))
            looks += len(files) + 1
            if faults or looks > _FOLDERS:
                break
    return f"{faults[0].filename or home} can't be looked into: {faults[0].strerror or faults[0]}" if faults else None


def is_live(now: float, modified: float) -> bool:
    """Return whether a file may still be written to; one from the future, by a clock that was wrong, is not for that."""
    return abs(now - modified) < _LIVE


# ---------------------------------------------------------------------------------------------------------- finding and opening


def first_objects(path: Path) -> Iterator[tuple[bytes, Any]]:
    """Yield the lines at the beginning of a log with what they say, None for one that is no JSON. Raises StoreError, OSError."""
    read = 0
    with LogFile(path).open(buffer=LITTLE) as file:
        while read <= _HEAD and (line := file.readline(_LONGEST)):
            read += len(line)
            try:
                data = loads(line)
            except JsonError:
                data = None
            yield line, data


def sniff_tree(
    path: Path, *, reader: str, kind_of: Callable[[Path], str | None], candidates: Callable[[Path], Iterator[Path]], folder: str
) -> Claim | None:
    """
    Say whether a path is a reader's.

    Args:
        kind_of: Says by its content what a file is, in words; None for what is not the reader's.
        candidates: Gives files of a folder that may tell, the likeliest first.
        folder: What a folder with such a file is, in words.
    """
    try:
        if path.is_file():
            kind = kind_of(path)
            return Claim(reader=reader, why=kind) if kind is not None else None
        looks = 0
        for file in candidates(path) if path.is_dir() else ():
            if kind_of(file) is not None:
                return Claim(reader=reader, why=folder)
            # Empty files are what an agent leaves of sessions in which nothing was said.
            looks += file.stat().st_size > 0
            if looks > _LOOKS:
                break
    except (StoreError, OSError, ValueError):
        pass
    return None


class Tree(Protocol):
    """What was found at a path."""

    root: Path


Item = TypeVar("Item")
SomeTree = TypeVar("SomeTree", bound=Tree)
SomeStore = TypeVar("SomeStore", bound="LogStore[Any]")


def open_tree(
    path: Path,
    *,
    reader: str,
    listen: Listener,
    private: bool,
    find: Callable[[Path, Tell], SomeTree],
    files: Callable[[SomeTree], Iterable[Path]],
    make: Callable[[Path, SomeTree, Told, TemporaryDirectory[str] | None], SomeStore],
) -> SomeStore:
    """
    Open what is at a path.

    Args:
        private: Read from a private copy of all files.
        find: Gives what there is at a path.
        files: Which files belong to it.

    Raises:
        StoreError: It can't be read.
        NotAStore: There is no session in it.
    """
    told = Told(listen)
    try:
        tree = find(path, lambda where, what: told(where, what, 1))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    copy = None
    if private:
        from tempfile import TemporaryDirectory

        copy = TemporaryDirectory(prefix="satchel-")
        try:
            _copy(files(tree), tree.root, Path(copy.name))
            tree = find(Path(copy.name) if path.is_dir() else Path(copy.name, path.name), silent)
        except BaseException:
            copy.cleanup()
            raise
    listen(StoreOpened(reader, str(path), "line by line"))
    store = make(path, tree, told, copy)
    if not store.has_sessions:
        store.close()
        if told.lost is not None:
            raise StoreError(f"{path} cannot be read: {told.lost}", subject=path)
        raise NotAStore(f"{path} holds no session of {store.called}", subject=path)
    return store


def _copy(files: Iterable[Path], root: Path, to: Path) -> None:
    import shutil

    for file in sorted(set(files)):
        if not file.is_file():
            continue
        target = to / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(file, target)
        except OSError as error:
            raise StoreError(f"{file} cannot be copied for reading: {error.strerror or error}", subject=file) from error


# ---------------------------------------------------------------------------------------------------------- counting

_EPOCH = datetime(1970, 1, 1)
_MILLISECONDS = 1e11
"""Numbers from here on count milliseconds, and did so since 1973."""


def second(value: Any, *, least: float = _MILLISECONDS) -> float | None:
    """
    Return a time as seconds since the epoch: from ISO 8601 text, UTC without a zone, or from a number; None for anything else.

    Args:
        least: The smallest number that is a time.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return moment.timestamp() if moment.tzinfo else (moment - _EPOCH).total_seconds()
        except (ValueError, OverflowError):
            return None
    if type(value) in (int, float) and least < value < 1e15:
        return value / 1000 if value > _MILLISECONDS else float(value)
    return None


def counted(info: SessionInfo, entries: Iterable[Entry], *, newest: float | None = None) -> SessionInfo:
    """
    Return a session's info with what its entries add up to: messages by state, calls, tokens, cost, and the newest time.

    A message counts as often as it is a row in Hermes' record (`satchel.formats.parted`), and one beside the main line as
    rewound, as in an export; `extra["beside"]` says how many of those there are.

    Args:
        newest: A time that is known from elsewhere.
    """
    states = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}
    calls = 0
    cost = info.cost
    sums = [0] * 5
    for entry in entries:
        if not isinstance(entry, Message):
            continue
        states[entry.state] += rows(entry)
        if entry.time is not None and (newest is None or entry.time > newest):
            newest = entry.time
        calls += sum(isinstance(block, ToolCall) for block in entry.blocks)
        if "cost" in entry.extra:
            cost = (cost or 0.0) + entry.extra["cost"]
        used = entry.usage
        if used is not None:
            for i, count in enumerate((used.input, used.output, used.cache_read, used.cache_write, used.reasoning)):
                sums[i] += count
    given, made, from_cache, to_cache, thought = sums
    usage = Usage(input=given, output=made, cache_read=from_cache, cache_write=to_cache, reasoning=thought)
    return replace(
        info,
        messages=states["live"],
        compacted=states["compacted"],
        rewound=states["rewound"] + states["sidechain"],
        extra={**info.extra, "beside": states["sidechain"]} if states["sidechain"] else info.extra,
        last_active=newest if newest is not None else info.started_at,
        tool_calls=calls,
        cost=cost,
        usage=usage if any(sums) else info.usage,
    )


def given_away(held: deque[Item]) -> Iterator[Item]:
    """Yield what is held, and let go of it one by one."""
    while held:
        yield held.popleft()


# ---------------------------------------------------------------------------------------------------------- the store


def _check(path: Path, seen: os.stat_result) -> None:
    """Raise StoreChanged when a file is another one now, shorter, or was written anew; one that grew has what was read."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError as error:
        raise StoreChanged(f"{path} went away while it was read", subject=path) from error
    anew = found.st_size == seen.st_size and found.st_mtime_ns != seen.st_mtime_ns
    if (found.st_dev, found.st_ino) != (seen.st_dev, seen.st_ino) or found.st_size < seen.st_size or anew:
        raise StoreChanged(f"{path} changed while it was read; try again", subject=path)


Session = TypeVar("Session")


class LogStore(Generic[Session]):
    """
    Sessions at a path as they were when it was opened: what is written meanwhile is for the next time.

    A reader gives it its sessions by id and its history of prompts, and says of a session what the three methods at the end ask.
    """

    format: str
    agent: str
    dialect: str
    called: str
    """What people call the agent."""
    conversation = LINE

    def __init__(self, path: Path, told: Told, copy: TemporaryDirectory[str] | None) -> None:
        self.path = path
        self.label = str(path)
        self._told = told
        self._copy = copy
        self._now = time.time()
        self._read: dict[str, LogFile] = {}
        self._beside: dict[Path, os.stat_result] = {}
        self._extents: dict[Path, int] = {}
        self._sessions: dict[str, Session] = {}
        self._history = History(None, (), prompt_of=lambda record: None, report=unheard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was copied."""
        if self._copy is not None:
            self._copy.cleanup()

    @property
    def has_sessions(self) -> bool:
        """Whether there is any session."""
        return bool(self._sessions or self._history.prompts)

    def sessions(self, *, counts: bool = True) -> Iterator[SessionInfo]:
        """Yield every session, by start and id; without `counts` nothing but the ends of each file is looked at."""
        starts = {key: self._start(session) for key, session in self._sessions.items()}
        starts |= self._history.starts()
        for key in sorted(starts, key=lambda key: (starts[key] or 0.0, key)):
            yield self.session(key, counts=counts)

    def session(self, session_id: str, *, counts: bool = True) -> SessionInfo:
        """Return the session of exactly this id. Raises NotFound."""
        is_gone = session_id in self._history.prompts
        info = self._info_of_prompts(session_id) if is_gone else self._info(self._get(session_id))
        return counted(info, self.decode(self.records(session_id))) if counts else info

    def records(self, session_id: str) -> Iterator[Record]:
        """
        Yield the session's records: files beside its log first, then its lines.

        The number of a line, its key, carries along what decoding needs to know of the whole session.
        """
        if session_id in self._history.prompts:
            return self._history.records(session_id)
        return self._records(self._get(session_id))

    canonical = staticmethod(canonical)

    def decode(self, records: Iterable[Record]) -> Iterator[Entry]:
        """Yield the entries that records say."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise StoreChanged if a file that was read is another one now, or shorter."""
        for log in self._read.values():
            log.check()
        for path, seen in self._beside.items():
            _check(path, seen)
        self._history.check()

    def extent(self, path: Path) -> int | None:
        """
        Return how many bytes of a file are read: as many as it had when it was opened, or first looked at.

        None for one that is nowhere read.
        """
        if path not in self._extents:
            self._extents |= {log.path: log.size for log in self._logs()}
        if path in self._extents:
            return self._extents[path]
        try:
            found = os.stat(path, follow_symlinks=False)
        except OSError:
            return None
        return self._first_seen(path, found) if stat.S_ISREG(found.st_mode) else None

    def _first_seen(self, path: Path, found: os.stat_result) -> int:
        """Keep how a file beside a log was when it was looked at first, and return how many bytes it had then."""
        return self._beside.setdefault(path, found).st_size

    def _logs(self) -> Iterable[LogFile]:
        """Return the logs of all sessions."""
        raise NotImplementedError

    def _get(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise NotFound(f"{self.label} has no session {session_id}", subject=session_id)
        return self._sessions[session_id]

    def _info_of_prompts(self, session_id: str) -> SessionInfo:
        held = self._history.prompts[session_id]
        return SessionInfo(
            id=session_id,
            format=self.format,
            agent=self.agent,
            store=self.label,
            source=self._source,
            title=held.first or None,
            started_at=min(held.times, default=None),
            ended_at=max(held.times, default=None),
            cwd=held.project,
            extra={"partial": "prompts"} | ({} if held.is_assigned else {"unassigned": True}),
        )

    _source: str

    def _start(self, session: Session) -> float | None:
        """Return when a session began."""
        raise NotImplementedError

    def _info(self, session: Session) -> SessionInfo:
        """Return what the ends of its files say of a session."""
        raise NotImplementedError

    def _records(self, session: Session) -> Iterator[Record]:
        """Yield the records of a session."""
        raise NotImplementedError

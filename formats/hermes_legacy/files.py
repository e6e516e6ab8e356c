"""
Which files of a Hermes home hold sessions, of which kind each is, and whose it is.

What a file is goes by its content; its name only says where to look, and whose a file is that does not say so itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from satchel.errors import JsonError
from satchel.formats.hermes_legacy.decode import moment
from satchel.formats.hermes_legacy.documents import BODY, MESSAGES, Document, outline, value_of
from satchel.formats.hermes_legacy.known import MESSAGE_KEYS, ROLES
from satchel.formats.log_lines import BLANK, LogFile, head_and_tail
from satchel.jsontext import loads

__all__ = ["Kind", "LegacyFile", "Roots", "identify", "is_home", "names", "roots", "routing", "single", "time_of_id"]

Kind = Literal["transcript", "snapshot", "saved", "request_dump", "pending"]

HEAD = 1 << 16

_ID = re.compile(r"(?:cron_\w+?_|bg_|session_)?(\d{8}_\d{6})(?:_[0-9a-zA-Z]+)?")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)")
_DUMPED = re.compile(r"request_dump_(.+?)_\d{8}_\d{6}(?:_\d+)?")
# Keys by which a message of Hermes is told from one of another program, beside `role` and `content`.
_OWN = MESSAGE_KEYS - {"role", "content", "name", "tool_calls", "tool_call_id"}
# Lines of other agents have one of these.
_FOREIGN = frozenset(["type", "sessionId", "uuid", "messages", "message", "payload", "created", "parts", "id"])


@dataclass(slots=True)
class LegacyFile:
    """
    A file that belongs to one session.

    Attributes:
        name: Relative to the folder that was opened, with "/" between its parts.
        head: What is known of the session by the file's beginning: scalars, and nothing that grows.
        started: The session's start, if the file says so; `first` the time of its first message.
    """

    kind: Kind
    name: str
    path: Path
    id: str
    size: int
    modified: float
    head: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    first: float | None = None


@dataclass(slots=True)
class Roots:
    """Where the files are: each folder with the beginning of its files' names, and which names count."""

    sessions: list[tuple[Path, str]]
    pending: Path | None = None
    routing: Path | None = None


def roots(path: Path) -> Roots:
    """Return where session files are under a path: a home, its folder of sessions, or a folder inside that."""
    sessions = path / "sessions"
    if os.path.isdir(sessions):
        found = Roots([(sessions, "sessions/"), (sessions / "saved", "sessions/saved/")])
        found.pending, found.routing = path / "pending_messages", sessions / "sessions.json"
        return found
    return Roots([(path, ""), (path / "saved", "saved/")], routing=path / "sessions.json")


def names(folder: Path, suffixes: tuple[str, ...] = (".jsonl", ".json")) -> Iterator[str]:
    """Yield the names of the files in a folder that may hold sessions, sorted. Raises OSError."""
    with os.scandir(folder) as entries:
        found = [entry.name for entry in entries if entry.name.endswith(suffixes) and not entry.is_dir()]
    yield from (name for name in sorted(found) if name != "sessions.json" and not name.startswith("."))


def is_home(path: Path) -> bool:
    """Return whether a folder has session files of Hermes in it, by a look at the first few."""
    for folder, prefix in roots(path).sessions:
        try:
            for name in list(names(folder))[:20]:
                if identify(folder / name, prefix + name, sure=True) is not None:
                    return True
        except OSError:
            continue
    return False


def time_of_id(session_id: str) -> float | None:
    """Return the start that the id of a session says: Hermes makes ids of the local time, which is read as UTC."""
    found = _TIME.search(session_id)
    return moment("{}-{}-{}T{}:{}:{}".format(*found.groups())) if found else None


def identify(path: Path, name: str, *, sure: bool = False) -> LegacyFile | None:
    """
    Return what a file is by its beginning, or None for one of another kind.

    Args:
        sure: Take only what no other program writes; where a file stands in Hermes' own folder that is not needed.

    Raises:
        StoreError: It can't be read.
    """
    log = LogFile(path)
    if log.size == 0:
        return None
    if name.endswith(".json"):
        return _document(log, name, sure) or (None if sure else _damaged(log, name))
    return _transcript(log, name, sure)


def single(path: Path, *, sure: bool = True) -> LegacyFile | None:
    """
    Return what a file is that stands by itself, or None.

    Args:
        sure: Go by the content alone; else a damaged file counts too whose name is one of Hermes'.

    Raises:
        StoreError: It can't be read.
    """
    if not sure and not (_ID.fullmatch(_stem(path.name)) and path.suffix in (".json", ".jsonl")):
        return None
    suffixes = [path.suffix] if path.suffix in (".json", ".jsonl") else []
    for suffix in dict.fromkeys([*suffixes, ".jsonl", ".json"]):
        found = identify(path, path.name if suffix == path.suffix else f"{path.name}{suffix}", sure=sure)
        if found is not None:
            found.name = path.name
            return found
    return None


def _file(kind: Kind, log: LogFile, name: str, session_id: str) -> LegacyFile:
    return LegacyFile(kind, name, log.path, session_id, log.size, log.modified)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0]


# ---------------------------------------------------------------------------------------------------------- transcripts


def _transcript(log: LogFile, name: str, sure: bool) -> LegacyFile | None:
    stem = _stem(name)
    found = _file("transcript", log, name, stem)
    if sure:
        if log.compressed:
            return None
        with log.open(buffer=HEAD) as file:
            if b'"role"' not in file.read(HEAD):
                return None
    own = False
    good = 0
    for line in head_and_tail(log, head=1 << 13, tail=0)[0]:
        try:
            data = loads(line)
        except JsonError:
            continue
        if not isinstance(data, dict):
            if sure:
                return None
            continue
        role = data.get("role")
        role = role if isinstance(role, str) else None
        meta = role == "session_meta"
        # A row that Hermes could not store, and that was no message, is a content alone.
        chat = role in ROLES and ("content" in data or "tool_calls" in data)
        if _FOREIGN & data.keys() and (sure or role is None):
            return None
        if sure and not (meta or chat or data.keys() == {"content"}):
            return None
        good += 1
        own = own or meta or bool(chat and _OWN & data.keys())
        time = moment(data.get("timestamp"))
        found.first = time if found.first is None else found.first
        if meta and not found.head:
            found.head = {key: data[key] for key in ("model", "platform") if isinstance(data.get(key), str)}
            found.started = time
        if own or good == 8:
            break
    # Chat messages as such may be of any program.
    return found if not sure or own or (good and _ID.fullmatch(stem)) else None


# ---------------------------------------------------------------------------------------------------------- documents


_SAID = ("model", "base_url", "platform", "session_start", "last_updated", "message_count", "session_key")


def _document(log: LogFile, name: str, sure: bool) -> LegacyFile | None:
    with log.open(buffer=HEAD) as file:
        head = file.read(HEAD)
    if not head.lstrip(BLANK).startswith(b"{"):
        return None
    found = outline(head.decode("utf-8", "replace"), BODY if b'"request"' in head else MESSAGES, head=True)
    if found.torn is not None and "session_id" not in found.data and log.size > HEAD and not sure:
        # What names the session stands behind something large.
        whole = Document(log)
        found.data, found.keys = whole.data or {}, list(whole.data or ())
    data, keys = found.data, set(found.keys)
    session_id = data.get("session_id")
    session_id = session_id if isinstance(session_id, str) and session_id.strip() else None
    stem = _stem(name)
    kind: Kind
    if "request" in keys and keys & {"reason", "error", "timestamp"}:
        kind = "request_dump"
        dumped = _DUMPED.fullmatch(stem)
        session_id = session_id or (dumped[1] if dumped else None)
    elif "session_key" in keys and keys & {"data", "events"}:
        if sure:
            return None
        kind = "pending"
        inside = data.get("data")
        inside_id = inside.get("session_id") if isinstance(inside, dict) else None
        session_id = session_id or (inside_id if isinstance(inside_id, str) else None) or ""
    elif "session_start" in keys or "messages" in keys:
        if "id" in keys or (sure and session_id is None):
            return None
        kind = "saved" if "saved/" in name or stem.startswith("hermes_conversation_") else "snapshot"
    else:
        return None
    made = _file(kind, log, name, stem.removeprefix("session_") if session_id is None else session_id)
    made.head = {key: data[key] for key in _SAID if isinstance(data.get(key), str | int | float)}
    made.started = moment(data.get("session_start"))
    made.first = moment(data.get("timestamp", data.get("ts")))
    return made


def _damaged(log: LogFile, name: str) -> LegacyFile | None:
    """Return a file of a session that nothing but its name tells of: its beginning is damaged."""
    with log.open(buffer=HEAD) as file:
        head = file.read(HEAD)
    stem = _stem(name)
    found = outline(head.decode("utf-8", "replace"), head=True)
    if found.keys and (found.torn is None or log.size > HEAD):
        return None
    dumped = _DUMPED.fullmatch(stem)
    if dumped:
        return _file("request_dump", log, name, dumped[1])
    if stem.startswith("pending-"):
        return _file("pending", log, name, "")
    if stem.startswith("hermes_conversation_"):
        return _file("saved", log, name, stem)
    bare = stem.removeprefix("session_")
    return _file("snapshot", log, name, bare) if stem.startswith("session_") or _ID.fullmatch(bare) else None


# ---------------------------------------------------------------------------------------------------------- routing


def routing(path: Path) -> tuple[dict[str, list[tuple[str, Any, bytes]]], str | None]:
    """
    Return the gateway's entries by the session they name, each with its key and its bytes; and what is wrong, or None.

    Raises:
        StoreError: It can't be read.
    """
    text = b"".join(LogFile(path).lines()).decode("utf-8", "surrogateescape")
    found = outline(text, ())
    entries: dict[str, list[tuple[str, Any, bytes]]] = {}
    for key, (begin, end) in found.spans.items():
        if not isinstance(found.data.get(key), dict) or key.startswith("_"):
            continue
        raw = text[begin:end].encode("utf-8", "surrogateescape")
        try:
            entry, _ = value_of(raw)
        except JsonError:
            continue
        if isinstance(entry.get("session_id"), str):
            entries.setdefault(entry["session_id"], []).append((key, entry, raw))
    wrong = None if found.torn is None else "it is cut off or damaged: what of the routing is whole is read"
    return entries, wrong

"""Lines as Codex writes them, for tests: invented and small."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from satchel.contracts import SessionInfo
from satchel.events import Event, Problem
from satchel.formats.codex import reader
from satchel.formats.codex.store import CodexStore
from satchel.formats.model import Entry, Message, Note

SESSION = "0197a000-0000-7000-8000-000000000001"
OTHER = "0197a000-0000-7000-8000-000000000002"
THIRD = "0197a000-0000-7000-8000-000000000003"

Line = dict[str, Any]


def stamp(second: float) -> str:
    """Return a time that is so many seconds into the tests' day."""
    return f"2026-01-05T{10 + int(second) // 3600:02}:{int(second) // 60 % 60:02}:{second % 60:06.3f}Z"


class Log:
    """Makes lines of one rollout, a second apart."""

    def __init__(self, session: str = SESSION, *, at: float = 0, ordinals: bool = False, **meta: Any) -> None:
        self.lines: list[Line] = []
        self.time = at
        self.ordinals = ordinals
        self.add("session_meta", {"id": session, "timestamp": stamp(at), "cwd": "/srv/harbour", "cli_version": "0.104.0", **meta})

    def add(self, kind: str, payload: Any, **more: Any) -> Line:
        """Add a line."""
        line: Line = {"timestamp": stamp(self.time), "type": kind, "payload": payload, **more}
        if self.ordinals:
            line["ordinal"] = len(self.lines)
        self.time += 1
        self.lines.append(line)
        return line

    def item(self, kind: str, /, **payload: Any) -> Line:
        """Add an item."""
        return self.add("response_item", {"type": kind, **payload})

    def event(self, kind: str, /, **payload: Any) -> Line:
        """Add an event."""
        return self.add("event_msg", {"type": kind, **payload})

    def put_in(self, *texts: str) -> Line:
        """Add a message under the person's role that has no event."""
        return self.item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts])

    def ask(self, text: str) -> Line:
        """Add a prompt, with its event."""
        line = self.put_in(text)
        self.event("user_message", message=text, kind="plain")
        return line

    def answer(self, text: str, **more: Any) -> Line:
        """Add an answer, with its event."""
        self.event("agent_message", message=text)
        return self.item("message", role="assistant", content=[{"type": "output_text", "text": text}], **more)

    def turn(self, text: str, answer: str, *, id: str | None = None) -> None:
        """Add a turn."""
        if id is not None:
            self.event("task_started", turn_id=id)
            self.add("turn_context", {"turn_id": id, "cwd": "/srv/harbour", "model": "invented-1", "effort": "high"})
        self.ask(text)
        self.answer(answer)

    def tokens(self, total: tuple[int, int, int], last: tuple[int, int, int]) -> Line:
        """Add a count: input, of that cached, output."""

        def usage(counts: tuple[int, int, int]) -> Line:
            given, cached, made = counts
            return {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": made, "total_tokens": given + made}

        return self.event("token_count", info={"total_token_usage": usage(total), "last_token_usage": usage(last)})


def raw(lines: Iterable[Line | bytes]) -> bytes:
    """Return lines as they stand in a file."""
    made = (line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
    return b"".join(made)


def written(path: Path, lines: Iterable[Line | bytes]) -> Path:
    """Write lines into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw(lines))
    return path


def name(session: str = SESSION, *, time: str = "2026-01-05T11-00-00", part: str = "") -> str:
    """Return the name of a rollout."""
    return f"rollout-{time}-{session}{'_' + part if part else ''}.jsonl"


def day(home: Path) -> Path:
    """Return the folder of a day in a home."""
    return home / "sessions" / "2026" / "01" / "05"


def opened(path: Path) -> tuple[CodexStore, list[Problem]]:
    """Open what is at a path, and return with it the list that its problems come into."""
    heard: list[Problem] = []

    def listen(event: Event) -> None:
        if isinstance(event, Problem):
            heard.append(event)

    return reader.open(path, listen=listen), heard


def entries(path: Path, session: str | None = None) -> list[Entry]:
    """Return the entries of a session, the only one if none is named."""
    with opened(path)[0] as store:
        if session is None:
            (session,) = (info.id for info in store.sessions(counts=False))
        return list(store.decode(store.records(session)))


def messages(path: Path, session: str | None = None) -> list[Message]:
    """Return the messages among the entries."""
    return [entry for entry in entries(path, session) if isinstance(entry, Message)]


def notes(path: Path, session: str | None = None) -> list[Note]:
    """Return the notes among the entries."""
    return [entry for entry in entries(path, session) if isinstance(entry, Note)]


def infos(path: Path) -> dict[str, SessionInfo]:
    """Return what the sessions at a path are."""
    with opened(path)[0] as store:
        return {info.id: info for info in store.sessions()}

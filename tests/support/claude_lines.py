"""Lines as Claude Code writes them, for tests: invented, small, linked to each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from satchel.contracts import Record, SessionInfo
from satchel.events import Event, Problem
from satchel.formats.claude_code import reader
from satchel.formats.claude_code.store import ClaudeStore
from satchel.formats.model import Entry, Message, Note, plain_text

SESSION = "1f0c5b9e-0000-4000-8000-000000000001"
OTHER = "1f0c5b9e-0000-4000-8000-000000000002"
THIRD = "1f0c5b9e-0000-4000-8000-000000000003"

Line = dict[str, Any]


def uid(name: str | int) -> str:
    """Return the same UUID for the same name."""
    return str(uuid5(NAMESPACE_URL, f"claude/{name}"))


class Log:
    """Makes lines of one session, each on top of the one before."""

    def __init__(self, session: str = SESSION, *, tag: str = "", **envelope: Any) -> None:
        self.session = session
        self.tag = tag
        self.envelope = {"isSidechain": False, "userType": "external", "cwd": "/srv/harbour", "version": "2.1.40", **envelope}
        self.count = 0
        self.parent: str | None = None
        self.lines: list[Line] = []

    def add(self, kind: str, *, parent: str | None = "", **more: Any) -> Line:
        """Add a line of the graph."""
        self.count += 1
        line: Line = {
            "parentUuid": self.parent if parent == "" else parent,
            **self.envelope,
            "sessionId": self.session,
            "gitBranch": "main",
            "type": kind,
            "uuid": uid(f"{self.tag}{self.count}"),
            "timestamp": f"2026-02-01T10:{self.count // 60:02}:{self.count % 60:02}.000Z",
            **more,
        }
        self.parent = line["uuid"]
        self.lines.append(line)
        return line

    def user(self, content: Any, **more: Any) -> Line:
        """Add what stands under the person's role."""
        return self.add("user", message={"role": "user", "content": content}, **more)

    def answer(self, *blocks: Any, id: str = "msg_1", usage: Any = None, stop: str | None = None, **more: Any) -> Line:
        """Add a line of an answer of the model."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message: Line = {"id": id, "type": "message", "role": "assistant", "model": "claude-invented-1", "content": content}
        message |= {"stop_reason": stop, "stop_sequence": None, "usage": usage or {"input_tokens": 3, "output_tokens": 1}}
        return self.add("assistant", message=message, **{"requestId": f"req_{id}", **more})

    def call(self, name: str, call: str, *, id: str = "msg_1", **more: Any) -> Line:
        """Add a line of an answer that calls a tool."""
        return self.answer({"type": "tool_use", "id": call, "name": name, "input": {"of": call}}, id=id, **more)

    def result(self, call: str, content: Any = "done", *more_blocks: Any, **more: Any) -> Line:
        """Add what a tool gave back."""
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": content}, *more_blocks], **more)

    def side(self, kind: str, **more: Any) -> Line:
        """Add a line that refers to no other."""
        line = {"type": kind, "sessionId": self.session, **more}
        self.lines.append(line)
        return line


def written(path: Path, lines: Iterable[Line | bytes]) -> Path:
    """Write lines into a file, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return path


def opened(path: Path) -> tuple[ClaudeStore, list[Problem]]:
    """Return the store at a path, and a list that its problems go into."""
    heard: list[Problem] = []

    def listen(event: Event) -> None:
        if isinstance(event, Problem):
            heard.append(event)

    return reader.open(path, listen=listen), heard


def entries(path: Path, session: str | None = None) -> list[Entry]:
    """Return the entries of the only session at a path, or of this one."""
    with opened(path)[0] as store:
        ids = [info.id for info in store.sessions(counts=False)]
        if session is None:
            (session,) = ids
        return list(store.decode(store.records(session)))


def messages(path: Path, session: str | None = None) -> list[Message]:
    """Return the messages of a session."""
    return [entry for entry in entries(path, session) if isinstance(entry, Message)]


def notes(found: Iterable[Entry]) -> list[str]:
    """Return the kinds of the notes among entries."""
    return [entry.kind for entry in found if isinstance(entry, Note)]


def said(found: Sequence[Message]) -> list[tuple[str, str]]:
    """Return author and text of each message."""
    return [(message.author, plain_text(message.blocks)) for message in found]


def infos(path: Path, *, counts: bool = True) -> dict[str, SessionInfo]:
    """Return the sessions at a path by id."""
    with opened(path)[0] as store:
        return {info.id: info for info in store.sessions(counts=counts)}


def raw(records: Iterable[Record]) -> bytes:
    """Return the bytes of the lines among records."""
    return b"".join(record.raw or b"" for record in records if record.kind == "line")

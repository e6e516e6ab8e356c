"""
Shows a session of another agent as rows of a Hermes store, so that one record layout holds them all.

What a message says stands where Hermes has a column for it; two columns more say who wrote it (`author`) and whether it stood
beside the main line (`sidechain`). What has no place there is counted as a loss; the original lines, if they are asked for, hold
it all.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from satchel.contracts import Dialect, Record, SessionInfo, SessionView
from satchel.digest import ContentDigest, lineage_digest
from satchel.formats.hermes_rows import JSON_PREFIX, canonical
from satchel.formats.jsonl.native import origin_json
from satchel.formats.log_store import counted, given_away
from satchel.formats.model import Block, Entry, Image, Message, Text, Thinking, ToolCall, ToolResult
from satchel.formats.parted import parted

__all__ = ["Mapped"]

_HELD = 4 << 20
"""Messages whose lines take so many bytes are held, parsed, from the counting of them to the writing."""
_CALLS = 20_000
"""The names of so many calls are remembered for their results."""
_STATES = {"live": (1, 0), "compacted": (0, 1), "rewound": (0, 0), "sidechain": (0, 0)}


class Mapped:
    """
    A session's view in Hermes' dialect.

    Attributes:
        losses: What the rows can't hold, and how often, of the segments that were read to their end.
    """

    dialect = "hermes"

    def __init__(self, session: SessionView) -> None:
        self._session = session
        self.ids = session.ids
        self.redacted = session.redacted
        self.losses: Counter[str] = Counter()
        self._digests: dict[int, str] = {}
        self._facts: dict[int, Record] = {}

    @property
    def info(self) -> SessionInfo:
        """What the scan says of the newest segment."""
        return self._session.info

    @property
    def segments(self) -> Sequence[SessionInfo]:
        """What the scan says of each segment."""
        return self._session.segments

    @property
    def content_digest(self) -> str | None:
        """The digest of the rows, once every segment was read to its end."""
        if len(self._digests) < len(self.ids):
            return None
        return lineage_digest([self._digests[at] for at in range(len(self.ids))])

    def entries(self, segment: int = -1) -> Iterator[Entry]:
        """Yield the entries of a segment, as the session's own store says them."""
        return self._session.entries(segment)

    def files(self, segment: int = -1) -> Iterator[tuple[str, Path]]:
        """Yield nothing: rows are made."""
        yield from ()

    def extent(self, path: Path) -> int | None:
        """Return None: there are no files."""
        return None

    def origin(self, segment: int = -1) -> Dialect | None:
        """Return the dialect that the session's own records have."""
        return self._session.origin(segment)

    def native(self, segment: int = -1) -> Iterator[Record] | None:
        """Yield the session's own records."""
        return self._session.native(segment)

    def records(self, segment: int = -1) -> Iterator[Record]:
        """Yield the rows of a segment: the session's, then its messages."""
        at = segment % len(self.ids)
        digest = ContentDigest(canonical)
        losses: Counter[str] = Counter()
        for record in self._records(at, losses):
            digest.add(record)
            yield record
        if at not in self._digests:
            self.losses += losses
        self._digests[at] = digest.hexdigest()

    def _records(self, at: int, losses: Counter[str]) -> Iterator[Record]:
        # The session's row stands before the messages and says how many there are, and how many tokens they took.
        held: deque[Message] | None = None
        if at not in self._facts:
            held, lost = deque(), Counter[str]()
            self._facts[at] = self._session_row(at, held, lost)
            if held:
                losses += lost
        yield self._facts[at]
        names: dict[str, str] = {}
        number = 0
        for entry in given_away(held) if held else self._messages(at, losses):
            for row in _rows(entry, names, losses):
                number += 1
                row["session_id"] = self.ids[at]
                ordered = {name: row[name] for name in sorted(row)} | {"id": number}
                yield Record("messages", number, ordered, None, True)

    def _messages(self, at: int, losses: Counter[str]) -> Iterator[Message]:
        for entry in self._session.entries(at):
            if not isinstance(entry, Message):
                losses[f"notes: {entry.kind}"] += 1
            elif at and entry.extra.get("copied"):
                # The segment that it was said in stands before.
                losses["copies of earlier messages"] += 1
            else:
                yield entry

    def _session_row(self, at: int, held: deque[Message], losses: Counter[str]) -> Record:
        """Return the session's row; where its messages are no more than may be held, they are in `held` afterwards."""
        model = self.segments[at].model
        room = _HELD

        def seen() -> Iterator[Message]:
            nonlocal model, room
            for message in self._messages(at, losses):
                if room > 0:
                    held.append(message)
                    room -= sum(len(record.raw) if record.raw is not None else _HELD for record in message.records)
                    if room <= 0:
                        held.clear()
                model = message.model or model
                yield message

        info = counted(self.segments[at], seen(), newest=self.segments[at].ended_at)
        row = {
            "id": info.id,
            "archived": int(info.archived),
            "cache_read_tokens": info.usage.cache_read,
            "cache_write_tokens": info.usage.cache_write,
            "cwd": info.cwd,
            "end_reason": info.end_reason,
            # Whether it is live is a matter of the moment, and no fact of the session.
            "ended_at": info.last_active,
            "estimated_cost_usd": info.cost,
            "git_branch": info.git_branch,
            "input_tokens": info.usage.input,
            "model": model,
            "model_config": None,
            "origin_json": origin_json(info),
            "output_tokens": info.usage.output,
            "parent_session_id": info.parent,
            "reasoning_tokens": info.usage.reasoning,
            "source": info.source or info.agent,
            "started_at": info.started_at,
            "system_prompt": None,
            "title": info.title,
            "message_count": info.messages,
            "tool_call_count": info.tool_calls,
        }
        return Record("sessions", info.id, row)


def _rows(message: Message, names: dict[str, str], losses: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a message: one for each tool result, one for what else it says, one for what was put into it."""
    results, injected, said = parted(message)
    for block in said:
        if isinstance(block, ToolCall) and block.id is not None:
            names[block.id] = block.name
            if len(names) > _CALLS:
                # Results may bear their own names, or never come.
                for old in list(names)[: _CALLS // 2]:
                    del names[old]
    answers = message.role != "assistant"
    if answers:
        yield from _results(message, results, names, losses)
    if injected:
        yield _row(message, injected, losses) | {"author": "harness"}
    if said or not (results or injected):
        yield _row(message, said, losses)
    if not answers:
        yield from _results(message, results, names, losses)


def _results(
    message: Message, results: Sequence[ToolResult], names: dict[str, str], losses: Counter[str]
) -> Iterator[dict[str, Any]]:
    for result in results:
        name = result.name or names.pop(result.call_id or "", None)
        yield _bare(message, "tool") | {
            "author": "tool",
            "content": _content(result.content, losses),
            "tool_call_id": result.call_id,
            "tool_name": name,
        }


def _row(message: Message, blocks: Sequence[Block], losses: Counter[str]) -> dict[str, Any]:
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {
                "name": block.name,
                "arguments": block.arguments if isinstance(block.arguments, str) else json.dumps(block.arguments),
            },
        }
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    thoughts = [block.text for block in blocks if isinstance(block, Thinking) and block.text]
    losses["hidden reasoning"] += sum(isinstance(block, Thinking) and block.hidden for block in blocks)
    row = _bare(message, message.role) | {
        "author": message.author,
        "content": _content([block for block in blocks if not isinstance(block, Thinking | ToolCall)], losses),
        "finish_reason": message.stop_reason or ("tool_calls" if calls else None),
        "reasoning": "\n\n".join(thoughts) or None,
        "tool_calls": json.dumps(calls) if calls else None,
    }
    if message.usage is not None:
        row["token_count"] = message.usage.output
    return row


def _bare(message: Message, role: str) -> dict[str, Any]:
    active, compacted = _STATES[message.state]
    return {
        "active": active,
        "author": None,
        "compacted": compacted,
        "content": None,
        "finish_reason": None,
        "reasoning": None,
        "role": role,
        "session_id": None,
        "sidechain": int(message.state == "sidechain"),
        "timestamp": message.time,
        "token_count": None,
        "tool_call_id": None,
        "tool_calls": None,
        "tool_name": None,
    }


def _content(blocks: Sequence[Block], losses: Counter[str]) -> str | None:
    """Return content as Hermes stores it: a text, or parts where there are pictures."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, Text):
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, Image):
            url = f"data:{block.media_type or 'image/png'};base64,{block.data}" if block.data else block.url
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            losses[f"parts: {type(block).__name__.lower()}"] += 1
    if not parts:
        return None
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return JSON_PREFIX + json.dumps(parts)

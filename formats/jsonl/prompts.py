"""
Writes only what people typed: one JSON line a prompt.

Left out is what other hands put under a person's role: summaries, injected context, notes of the program, messages of bystanders
in a group; what the person took back; and the copies that compaction stored again.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from satchel.contracts import SessionView, Stream, Target, Written
from satchel.formats.carried import copies, says
from satchel.formats.model import Image, Message, plain_text
from satchel.jsontext import dumps
from satchel.timetext import iso_utc

__all__ = ["PromptsExport", "prompts"]

_NAME = "prompts.jsonl"


def prompts(session: SessionView) -> Iterator[tuple[Message, str]]:
    """Yield each prompt of a session with its text, oldest first."""
    flags = iter(copies(says(message) for message in _messages(session)))
    for message in _messages(session):
        if not next(flags):
            yield from _typed(message)


def _messages(session: SessionView) -> Iterator[Message]:
    for segment in range(len(session.ids)):
        for entry in session.entries(segment):
            # What a session copied from another one was typed there.
            if isinstance(entry, Message) and entry.state != "rewound" and not entry.extra.get("copied"):
                yield entry


def _typed(message: Message) -> Iterator[tuple[Message, str]]:
    if message.author != "person":
        return
    text = plain_text(message.blocks, injected=False)
    images = sum(isinstance(block, Image) for block in message.blocks)
    if images:
        text = "\n".join([*([text] if text else []), *["[image]"] * images])
    if text.strip():
        yield message, text


class PromptsExport:
    """One file of prompts."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lines = 0

    def __enter__(self) -> PromptsExport:
        self._stream: Stream = self._target.stream(_NAME)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._target.finish(self._stream)

    def add(self, session: SessionView) -> Written:
        """Write the session's prompts; `index` counts from 1 in each session."""
        index = 0
        for message, text in prompts(session):
            index += 1
            key = message.id
            line = {
                "session_id": session.ids[-1],
                "index": index,
                "created_at": iso_utc(message.time, whole=True),
                "role": message.role,
                "text": text,
                "message_id": int(key) if key is not None and key.isdecimal() else key,
            }
            platform = message.extra.get("platform_message_id")
            self._stream.write(dumps(line | ({"event_id": platform} if platform else {})) + b"\n")
        self._lines += index
        return Written(file=self._stream.name or None, messages=index)

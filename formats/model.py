"""
The session model that every reader fills and every writer reads.

A conversation is a row of entries: messages, and notes for records that say something else. Every record is in exactly one
entry, so what the model has no place for stays in reach: in `records`, in `Unknown`, in a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from satchel.contracts import Record, Usage
from satchel.frozen import frozen

__all__ = [
    "Attachment",
    "Author",
    "Block",
    "Entry",
    "Image",
    "Message",
    "Note",
    "State",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Unknown",
    "plain_text",
]

State = Literal["live", "compacted", "rewound", "sidechain"]
"""What became of a message: in the model's context, summarised away, taken back by the person, or beside the main line."""

Author = Literal["person", "model", "tool", "system", "harness", "bystander"]
"""Who wrote it: "harness" is the agent's program under another's role, "bystander" a group member who spoke to others."""


@frozen(frozen=True, slots=True)
class Text:
    """Ordinary text. `injected` is set on a part that the program put into a person's message."""

    text: str
    injected: bool = False


@frozen(frozen=True, slots=True)
class Thinking:
    """Reasoning. `hidden` when the provider gave only an opaque form, which then is in `data`."""

    text: str
    hidden: bool = False
    data: Any = None


@frozen(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `arguments` is parsed JSON where it could be parsed, else the text as it stood."""

    id: str | None
    name: str
    arguments: Any
    kind: str = "function"


@frozen(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back to the call with this id; `error` is None where the source does not say."""

    call_id: str | None
    name: str | None
    content: Sequence[Block]
    error: bool | None = None


@frozen(frozen=True, slots=True)
class Image:
    """A picture: `data` is base64 text, `url` where it is only referred to."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None


@frozen(frozen=True, slots=True)
class Attachment:
    """A file or sound that came with a message: `kind` as the source names it, the rest as it gave it."""

    kind: str
    name: str | None = None
    data: Any = None


@frozen(frozen=True, slots=True)
class Unknown:
    """A part the model has no word for, as the source has it."""

    data: Any


Block = Text | Thinking | ToolCall | ToolResult | Image | Attachment | Unknown


@frozen(frozen=True, slots=True, kw_only=True)
class Message:
    """
    One message of the conversation.

    `role` is the source's own word; `author` says who really wrote it. `time` is seconds since the epoch or None.
    """

    role: str
    author: Author
    blocks: Sequence[Block]
    id: str | None = None
    time: float | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    state: State = "live"
    records: Sequence[Record] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@frozen(frozen=True, slots=True, kw_only=True)
class Note:
    """A record that is no message: a fact about the session, or one of an unknown kind."""

    kind: str
    data: Any = None
    time: float | None = None
    records: Sequence[Record] = ()


Entry = Message | Note


def plain_text(blocks: Sequence[Block], *, injected: bool = True) -> str:
    """Return the text of the text parts, joined by newlines; without those that were injected, if asked."""
    return "\n".join(b.text for b in blocks if isinstance(b, Text) and (injected or not b.injected))

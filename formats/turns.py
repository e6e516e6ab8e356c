"""
What a reader of a conversation is shown of it, whatever the format: who speaks, what a call is about, what stands at its head.

The writers that make documents for people share it. Every text here is plain: how it is escaped is the writer's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from satchel.contracts import SessionInfo, SessionView
from satchel.errors import JsonError
from satchel.formats.carried import copies, says
from satchel.formats.hermes_rows import text_of
from satchel.formats.model import Entry, Message, Note, ToolCall, ToolResult
from satchel.jsontext import indented
from satchel.naming import terminal_line
from satchel.timetext import iso_utc

__all__ = [
    "CallNames",
    "about",
    "arguments_json",
    "conversation",
    "heading",
    "is_odd",
    "json_text",
    "line",
    "marks",
    "session_facts",
    "speaker",
    "system_prompt",
    "visible",
    "without_colours",
]

_SPEAKERS = {
    "person": "User",
    "model": "Assistant",
    "tool": "Tool",
    "system": "System",
    "harness": "Program",
    "bystander": "Bystander",
}
_ABOUT = 120
_NAMES = 20_000


def speaker(message: Message) -> str:
    """Return who speaks, in a word: "User", "Assistant", "Tool", "System", "Program", "Bystander", or a role of its source."""
    if message.author == "system" and message.role not in ("system", "unknown"):
        return line(message.role, 30) or "System"
    return _SPEAKERS[message.author]


def marks(message: Message) -> list[str]:
    """Return what sets a message apart from the others: "compacted", "rewound", "sidechain", "copied", "summary", "queued", …"""
    found: list[str] = [] if message.state == "live" else [message.state]
    extra = message.extra
    found += [mark for mark in ("copied", "summary", "queued", "blocked", "error") if extra.get(mark)]
    if extra.get("isCompactSummary") and "summary" not in found:
        found.append("summary")
    if extra.get("compacted") and "compacted" not in found:
        found.append("compacted")
    if message.author == "harness" and "summary" not in found:
        found.append("injected")
    return found


def conversation(session: SessionView) -> Iterator[tuple[int, Entry, bool]]:
    """
    Yield the entries of a session with the segment each is in, and whether it is a message that compaction stored again.

    Only a session of several segments can have such copies; it is read twice.
    """
    several = len(session.ids) > 1
    flags = iter(copies(says(message) for message in _messages(session)) if several else ())
    for segment in range(len(session.ids)):
        for entry in session.entries(segment):
            yield segment, entry, several and isinstance(entry, Message) and bool(next(flags))


def _messages(session: SessionView) -> Iterator[Message]:
    return (entry for at in range(len(session.ids)) for entry in session.entries(at) if isinstance(entry, Message))


class CallNames:
    """Remembers what tool a call was of, for the result that comes later; so many names as a session needs at once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def seen(self, call: ToolCall) -> None:
        """Take note of a call."""
        if call.id is not None:
            self._names[call.id] = call.name
            if len(self._names) > _NAMES:
                # The oldest ones: their results came long ago, or never will.
                for key in list(self._names)[: _NAMES // 2]:
                    del self._names[key]

    def of(self, result: ToolResult) -> str | None:
        """Return the name of the tool that a result is of."""
        if result.name:
            return result.name
        return self._names.get(result.call_id) if result.call_id is not None else None


# What a call is about stands under one of these names, in most tools of most agents; else the first text is it.
_TELLING = (
    "command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt", "title", "name",
)  # fmt: skip


def about(call: ToolCall) -> str:
    """Return in one line of at most 120 characters what a call is about: its command, path, query; "" where that is not said."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return line(arguments, _ABOUT)
    if not isinstance(arguments, Mapping):
        return ""
    for name in _TELLING:
        said = arguments.get(name)
        if isinstance(said, list) and said and all(isinstance(part, str) for part in said):
            said = " ".join(said)
        if isinstance(said, str) and said.strip():
            return line(said, _ABOUT)
    return next((line(said, _ABOUT) for said in arguments.values() if isinstance(said, str) and said.strip()), "")


def arguments_json(call: ToolCall) -> str:
    """Return a call's arguments as readable JSON, or as the text they are; "" for none."""
    if call.arguments is None:
        return ""
    return call.arguments if isinstance(call.arguments, str) else json_text(call.arguments)


def json_text(value: Any) -> str:
    """Return a value as readable JSON."""
    try:
        return indented(value)
    except JsonError:  # A plug-in's own type, say.
        return repr(value)


# ---------------------------------------------------------------------------------------------------------- texts

_ODD = re.compile("\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_ORDINARY = bytes((9, 10, *range(0x20, 0x7F)))
_ORDINARY_OR_BEYOND = bytes((*_ORDINARY, *range(0x80, 0x100)))
# How the odd ones beyond ASCII begin in UTF-8; many others begin so, too.
_MAY_BE_ODD = (b"\xc2", b"\xd8\x9c", b"\xe2\x80", b"\xe2\x81", b"\xed")
_COLOURS = re.compile(
    "\x1b\\[[0-9;:?<=>!]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()*+][0-9A-Za-z]|\x1b[=>78cDEHMNOZ]"
)


def visible(text: str) -> str:
    """
    Return a text with what can't be seen, or reorders what can, made visible; line breaks of every kind are `\\n`.

    Control characters are shown by their pictures (`␀`, `␛`), marks of direction and line separators as `<U+202E>`, halves of
    surrogate pairs as U+FFFD. Tabs and `\\n` stay.
    """
    return _ODD.sub(_shown, text) if is_odd(text.encode("utf-8", "surrogatepass")) else text


def is_odd(data: bytes) -> bool:
    """Return whether a text in UTF-8 may have something that `visible` would show."""
    if data.isascii():
        return bool(data.translate(None, _ORDINARY))
    if data.translate(None, _ORDINARY_OR_BEYOND):
        return True
    return any(mark in data for mark in _MAY_BE_ODD) and _ODD.search(data.decode("utf-8", "surrogatepass")) is not None


def _shown(match: re.Match[str]) -> str:
    found = match[0]
    code = ord(found[0])
    if code == 13:
        return "\n"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code < 0xE000 else f"<U+{code:04X}>"


def without_colours(text: str) -> str:
    """Return a text without the sequences that colour a terminal or move its cursor."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def line(text: str, most: int) -> str:
    """Return a text as one line of at most so many columns, safe to look at."""
    text = text.lstrip() if text[:1].isspace() else text
    head = " ".join(text[: 4 * most].split())
    if head.isascii() and head.isprintable():
        return head if len(head) <= most and len(text) <= 4 * most else f"{head[: most - 1].rstrip()}…"
    return terminal_line(text, most)


# ---------------------------------------------------------------------------------------------------------- the session


def system_prompt(note: Note) -> str | None:
    """Return the system prompt that a note holds: a session's row of Hermes, or a row of its table of prompts."""
    data = note.data
    if isinstance(data, Mapping) and note.kind in ("sessions", "system_prompts"):
        found = text_of(data.get("system_prompt" if note.kind == "sessions" else "prompt"))
        return found or None
    return None


def session_facts(view: SessionView) -> dict[str, Any]:
    """
    Return what stands at the head of a document, by name and in order: texts, numbers, lists of texts, truth values.

    Times are RFC 3339 in UTC, "" where they are not known. What only the messages tell is the writer's to add.
    """
    info = view.info
    return {
        "session_id": view.ids[-1],
        "title": info.title or "",
        "agent": info.agent,
        "source": info.source or "",
        "created_at": iso_utc(info.started_at, whole=True),
        "ended_at": iso_utc(info.ended_at, whole=True),
        "model": info.model or "",
        "provider": info.provider or "",
        "cwd": info.cwd or "",
        "git_branch": info.git_branch or "",
        "archived": info.archived,
        "pinned": info.pinned,
        "live": info.live,
        "end_reason": info.end_reason or "",
        "input_tokens": info.usage.input,
        "output_tokens": info.usage.output,
        "cache_read_tokens": info.usage.cache_read,
        "reasoning_tokens": info.usage.reasoning,
        "cost_usd": round(info.cost, 6) if info.cost else 0.0,
        "parent_session_id": info.parent or "",
        "lineage": info.lineage or "",
        "lineage_session_ids": list(view.ids),
        "redacted": view.redacted,
    }


def heading(info: SessionInfo) -> str:
    """Return what a session is called: its title, else its id; one line, safe to look at."""
    return line(info.title or "", 200) or line(info.id, 200) or "session"

"""From the lines of Hermes' session files to the model. They are chat messages as Hermes' program holds them in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from satchel.contracts import Record
from satchel.formats.hermes_decode import author_of, calls_of, parts_of, typed_text
from satchel.formats.hermes_rows import JSON_PREFIX, decode_content, is_summary, number, state_of, text_of
from satchel.formats.log_lines import LINE
from satchel.formats.model import Author, Block, Entry, Message, Note, Text, Thinking, ToolResult, Unknown
from satchel.frozen import maker

__all__ = ["decode", "moment", "pending_texts"]

_made, _note, _result, _text = maker(Message), maker(Note), maker(ToolResult), maker(Text)
_EPOCH = datetime(1970, 1, 1)
_LATEST = 253_402_300_800
# Milliseconds count from here on: as seconds it would be the year 5138.
_MILLIS = 100_000_000_000
_THOUGHT = re.compile(r"\s*<(REASONING_SCRATCHPAD|think|thinking|reasoning)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_USUAL = frozenset(
    ["role", "content", "timestamp", "reasoning", "finish_reason", "tool_calls", "tool_call_id", "tool_name", "name"]
)
_KEPT = ("token_count", "effect_disposition", "platform_message_id", "mirror", "mirror_source", "display_kind")


def moment(value: Any) -> float | None:
    """
    Return a time as the files have it in seconds since the epoch: ISO text or a number; else None.

    A text without a zone is the local time of the machine that wrote it, which nothing tells. It is read as UTC, so that a file
    says the same wherever it is read.
    """
    if isinstance(value, str):
        return _from_text(value)
    found = number(value)
    if found is None or found <= 0:
        return None
    if found >= _MILLIS:
        found /= 1000
    return found if found < _LATEST else None


@lru_cache(maxsize=64)
def _from_text(text: str) -> float | None:
    try:
        found = datetime.fromisoformat(text.strip())
        return found.timestamp() if found.tzinfo else (found - _EPOCH).total_seconds()
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return moment(float(text))
    except ValueError:
        return None


def decode(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield one entry for each record."""
    for record in records:
        data = record.data
        if record.kind != LINE:
            yield _note(kind=record.kind, data=data, records=(record,))
        elif not isinstance(data, dict):
            yield _note(kind="damaged" if data is None else "unknown", data=data, records=(record,))
        elif data.get("role") == "session_meta":
            yield _note(kind="session_meta", data=data, time=moment(data.get("timestamp")), records=(record,))
        elif "role" in data or "content" in data:
            yield _message(data, record)
        elif (texts := pending_texts(data)) is not None:
            yield _pending(data, texts, record)
        else:
            yield _note(kind="unknown", data=data, time=moment(data.get("timestamp")), records=(record,))


def _message(data: Mapping[str, Any], record: Record) -> Message:
    get = data.get
    role = get("role")
    role = role if isinstance(role, str) and role else "unknown"
    content = get("content")
    if type(content) is str and content.startswith(JSON_PREFIX):
        content = decode_content(content)
    rare = not data.keys() <= _USUAL
    author = _author(data, role, content, rare)
    blocks = _reasoning(data) if rare or "reasoning" in data else []
    if role == "assistant" and type(content) is str and content.lstrip()[:1] == "<":
        content = _without_thoughts(content, blocks)
    if author == "tool":
        name = get("tool_name") or get("name")
        blocks.append(_result(text_of(get("tool_call_id")), text_of(name), parts_of(content)))
    elif type(content) is not str:
        blocks += parts_of(content)
    elif author == "person":
        blocks += typed_text(content)
    elif content:
        blocks.append(_text(content))
    if (calls := get("tool_calls")) is not None:
        blocks += calls_of(_json(calls) if isinstance(calls, str) else calls)
    extra: dict[str, Any] = {}
    if rare:
        if isinstance(get("function_call"), dict):
            blocks += calls_of([data["function_call"]])
        extra = {key: data[key] for key in _KEPT if get(key) is not None}
        identity = text_of(get("platform_message_id")) or text_of(get("message_id"))
        if identity is not None:
            extra["platform_message_id"] = identity
    if author == "harness" and is_summary(data):
        extra["summary"] = True
    if author == "person" and blocks and all(isinstance(b, Text) and b.injected for b in blocks):
        author = "harness"
    return _made(
        role=role,
        author=author,
        blocks=blocks,
        id=extra.get("platform_message_id"),
        time=moment(get("timestamp")),
        stop_reason=text_of(get("finish_reason")),
        state=state_of(data) if rare else "live",
        records=(record,),
        extra=extra,
    )


def _author(data: Mapping[str, Any], role: str, content: Any, rare: bool) -> Author:
    if role in ("tool", "function"):
        return "tool"
    if rare and data.get("mirror"):
        # A text that was delivered from another session.
        return "harness"
    return author_of(data, content if isinstance(content, str) else "")


def _reasoning(data: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for key in ("reasoning", "reasoning_content"):
        thought = data.get(key)
        if isinstance(thought, str):
            if thought and not any(isinstance(b, Thinking) and b.text == thought for b in blocks):
                blocks.append(Thinking(thought))
        elif thought:
            blocks.append(Thinking("", hidden=True, data=thought))
    for key in ("reasoning_details", "codex_reasoning_items", "codex_message_items"):
        value = data.get(key)
        if value is not None:
            value = _json(value) if isinstance(value, str) else value
            blocks.append(Thinking("", hidden=True, data=value) if "reasoning" in key else Unknown({key: value}))
    return blocks


def _without_thoughts(content: str, blocks: list[Block]) -> str:
    """Move the thoughts that a text begins with to the blocks, but for those that are there; return the rest."""
    at = 0
    while (found := _THOUGHT.match(content, at)) is not None:
        thought = found[2]
        known = {b.text.strip() for b in blocks if isinstance(b, Thinking)}
        if thought.strip() and thought.strip() not in known:
            blocks.append(Thinking(thought))
        at = found.end()
    return content[at:] if at else content


def _json(text: str) -> Any:
    from satchel.errors import JsonError
    from satchel.jsontext import loads

    try:
        return loads(text)
    except JsonError:
        return text


# ---------------------------------------------------------------------------------------------------------- pending


def pending_texts(data: Any) -> list[str] | None:
    """Return what people wrote that a stopped gateway had not taken up yet; None for what is no such file."""
    if not isinstance(data, dict) or "session_key" not in data:
        return None
    if isinstance(data.get("events"), list):
        events = [event.get("event", event) if isinstance(event, dict) else event for event in data["events"]]
    elif "data" in data:
        events = [data["data"]]
    else:
        return None
    texts = [event.get("text") if isinstance(event, dict) else event for event in events]
    return [text for text in texts if isinstance(text, str)]


def _pending(data: Mapping[str, Any], texts: list[str], record: Record) -> Entry:
    time = moment(data.get("ts"))
    if not any(texts):
        return _note(kind="pending", data=data, time=time, records=(record,))
    inside = data.get("data")
    identity = text_of(inside.get("message_id")) if isinstance(inside, dict) else None
    return _made(
        role="user",
        author="person",
        blocks=[block for text in texts if text for block in typed_text(text)],
        id=identity,
        time=time,
        records=(record,),
        extra={"pending": True} | ({"platform_message_id": identity} if identity else {}),
    )

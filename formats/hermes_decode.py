"""
From the rows of a Hermes store to the model: who wrote a message, and what its parts are.

The rows' encodings are `hermes_rows`' business. Facts: docs/formats/hermes-state.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from satchel.contracts import Record
from satchel.errors import JsonError
from satchel.formats.hermes_rows import decode_content, is_summary, number, state_of, text_of
from satchel.formats.model import (
    Attachment,
    Author,
    Block,
    Image,
    Message,
    Note,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
)
from satchel.frozen import maker
from satchel.jsontext import RawText, loads

__all__ = ["author_of", "calls_of", "decode", "parts_of", "typed_text"]

_made, _call = maker(Message), maker(ToolCall)

# ---------------------------------------------------------------------------------------------------------- who wrote it

# Texts that Hermes' own program stores as a person's message (docs/formats/hermes-state.md, "Injected text").
_HARNESS = (
    "[CONTEXT COMPACTION",
    "[CONTEXT SUMMARY]:",
    "[PRIOR CONTEXT — for reference only",
    "[System: ",
    "[SYSTEM: ",
    "[IMPORTANT: ",
    "[ASYNC DELEGATION",
    "[Background process ",
    "[Continuing toward your standing goal]",
    "Review the conversation above and consider saving to memory",
    "Review the conversation above and update the skill library",
    "Review the conversation above and update two things",
)
# Notes that it puts before the person's own words.
_LEADING_NOTE = ("[System note: ", "[Note: ")
_MEMORY_OPEN = re.compile(r"<\s*memory-context\s*>", re.IGNORECASE)
_MEMORY_CLOSE = re.compile(r"</\s*memory-context\s*>", re.IGNORECASE)


_AUTHORS: dict[Any, Author] = {author: author for author in get_args(Author)}


def author_of(row: Mapping[str, Any], text: str) -> Author:
    """Return who wrote a message, by its row and its text."""
    said = _AUTHORS.get(row.get("author")) if "sidechain" in row else None
    if said is not None:
        return said  # A row that stands for another agent's message, as docs/formats/jsonl.md says.
    role = row.get("role")
    if role == "assistant":
        return "harness" if is_summary(row) else "model"
    if role == "tool":
        return "tool"
    if role != "user":
        return "system"
    if row.get("observed"):
        return "bystander"
    kind = row.get("display_kind")
    if kind is not None and "steer" not in str(kind):
        return "harness"
    if row.get("_compressed_summary") or text.lstrip().startswith(_HARNESS):
        return "harness"
    return "person"


def typed_text(text: str) -> list[Text]:
    """Split a person's text into what was typed and what the program put in, in order."""
    parts: list[Text] = []
    at = 0
    while text.startswith(_LEADING_NOTE, at) and (end := text.find("]", at)) >= 0:
        parts.append(Text(text[at : end + 1], injected=True))
        at = end + 1
        while text.startswith("\n", at):
            at += 1
    while (start := _MEMORY_OPEN.search(text, at)) is not None:
        close = _MEMORY_CLOSE.search(text, start.end())
        if close is None:
            break
        if text[at : start.start()].strip():
            parts.append(Text(text[at : start.start()]))
        at = close.end()
        parts.append(Text(text[start.start() : at], injected=True))
    if text[at:] and (text[at:].strip() or not parts):
        parts.append(Text(text[at:]))
    return parts


# ---------------------------------------------------------------------------------------------------------- to the model


def decode(record: Record) -> Message | Note:
    """Return the entry that a row is: a message for one of `messages`, a note for any other."""
    row = record.data
    if record.kind != "messages":
        return Note(kind=record.kind, data=row, records=(record,))
    content = decode_content(row.get("content"))
    role = text_of(row.get("role")) or "unknown"
    text = content if isinstance(content, str) else ""
    author = author_of(row, text)
    blocks: list[Block] = []
    for column in ("reasoning", "reasoning_content"):
        thought = text_of(row.get(column))
        if thought and not any(isinstance(b, Thinking) and b.text == thought for b in blocks):
            blocks.append(Thinking(thought))
    for column in ("reasoning_details", "codex_reasoning_items", "codex_message_items"):
        if row.get(column) is not None:
            data = _maybe_json(row[column])
            blocks.append(Thinking("", hidden=True, data=data) if "reasoning" in column else Unknown({column: data}))
    if role == "tool":
        blocks.append(ToolResult(text_of(row.get("tool_call_id")), text_of(row.get("tool_name")), parts_of(content)))
    elif author == "person" and isinstance(content, str):
        blocks += typed_text(content)
    else:
        blocks += parts_of(content)
    blocks += _tool_calls(row.get("tool_calls"))
    if author == "person" and blocks and all(isinstance(b, Text) and b.injected for b in blocks):
        author = "harness"
    known = {
        k: row[k] for k in ("finish_reason", "token_count", "effect_disposition", "platform_message_id") if row.get(k) is not None
    }
    return _made(
        role=role,
        author=author,
        blocks=blocks,
        id=text_of(row.get("id")),
        time=number(row.get("timestamp")),
        stop_reason=text_of(known.pop("finish_reason", None)),
        state="sidechain" if row.get("sidechain") == 1 else state_of(row),
        records=(record,),
        extra=known | ({"summary": True} if is_summary(row) else {}),
    )


def _maybe_json(value: Any) -> Any:
    text = text_of(value)
    try:
        return loads(text or "null")
    except JsonError:
        return text


def parts_of(content: Any) -> list[Block]:
    """Return the parts of a content: a text, or a list of parts in any of the shapes that providers have."""
    if content is None:
        return []
    if isinstance(content, str | bytes | RawText):
        return [Text(text_of(content) or "")]
    if isinstance(content, list):
        return [_part(part) for part in content]
    return [_part(content)]


def _part(part: Any) -> Block:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Unknown(part)
    kind = part.get("type")
    if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind in ("image_url", "input_image"):
        url = part.get("image_url")
        if isinstance(url, dict):
            url = url.get("url")
        if isinstance(url, str):
            head, comma, data = url.partition(",")
            if comma and head.startswith("data:") and head.endswith(";base64"):
                return Image(media_type=head[5:-7] or None, data=data)
            return Image(url=url)
    source = part.get("source")
    if kind == "image" and isinstance(source, dict) and source.get("type") == "base64":
        return Image(media_type=source.get("media_type"), data=source.get("data"))
    if kind in ("input_audio", "audio", "file", "input_file", "document"):
        return Attachment(kind=kind, name=part.get("filename") or part.get("name"), data=part)
    return Unknown(part)


def _tool_calls(stored: Any) -> list[Block]:
    """Return the calls of a row, in every shape the column is known to have."""
    if stored is None:
        return []
    value = _maybe_json(stored)
    if isinstance(value, str):
        # Encoded twice, or no JSON at all.
        value = _maybe_json(value)
    return calls_of(value)


def calls_of(value: Any) -> list[Block]:
    """Return the calls that a message's `tool_calls` say, parsed JSON of any shape."""
    blocks: list[Block] = []
    for call in value if isinstance(value, list) else [value]:
        function = call.get("function") if isinstance(call, dict) else None
        body = function if isinstance(function, dict) else call
        if not isinstance(body, dict) or not isinstance(body.get("name"), str):
            if call is not None:
                blocks.append(Unknown(call))
            continue
        arguments = body.get("arguments", body.get("input"))
        if isinstance(arguments, str):
            arguments = _maybe_json(arguments) if arguments.lstrip()[:1] in ("{", "[") else arguments
        identity = call.get("id") or call.get("call_id")
        blocks.append(_call(text_of(identity), body["name"], arguments, text_of(call.get("type")) or "function"))
    return blocks

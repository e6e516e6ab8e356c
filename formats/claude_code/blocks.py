"""
The parts of Claude Code's messages, one by one: text, thinking, calls of tools and what they gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from satchel.contracts import Usage
from satchel.formats.claude_code.texts import plain, rejection, result_parts, spoken
from satchel.formats.model import Attachment, Block, Image, Text, Thinking, ToolCall, ToolResult, Unknown
from satchel.frozen import maker

__all__ = ["Name", "Whole", "answer_blocks", "joined", "most", "prompt_blocks", "result", "saved_path", "usage_of"]

Name = Callable[[str | None], str | None]
"""Says what tool a call was of, by its id."""
Whole = Callable[[str], str | None]
"""Gives the whole of an output of which a text is but a preview, or None."""

_NO_CONTENT = "(no content)"

_call, _result, _usage = maker(ToolCall), maker(ToolResult), maker(Usage)


def prompt_blocks(content: Any, name: Name, whole: Whole, *, injected: bool) -> tuple[list[Block], bool, str | None]:
    """
    Return the parts of what stands under a person's role, whether a person typed any of it, and the command it is.

    With `injected`, none of it was typed.
    """
    if isinstance(content, str):
        return _spoken(content, injected=injected)
    blocks: list[Block] = []
    typed = False
    command = None
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            some, said, said_command = _spoken(part, injected=injected)
            blocks += some
            typed |= said
            command = command or said_command
            continue
        if not isinstance(part, dict):
            if part is not None:
                blocks.append(Unknown(part))
            continue
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            some, said, said_command = _spoken(part["text"], injected=injected)
            blocks += some
            typed |= said
            command = command or said_command
        elif kind == "tool_result":
            given = _answered(part, name, whole)
            blocks += given
            typed |= len(given) > 1
        else:
            blocks.append(_other(part))
            typed |= kind in ("image", "document") and not injected
    return blocks, typed, command


def _spoken(text: str, *, injected: bool) -> tuple[list[Block], bool, str | None]:
    if injected:
        return [Text(text, injected=True)], False, None
    parts, typed, _, command = spoken(text)
    return [*parts], typed, command


def _answered(part: dict[str, Any], name: Name, whole: Whole) -> list[Block]:
    """Return what a tool gave back, and the words with which a person said why it was not allowed."""
    content = part.get("content")
    text = content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        text = content[0].get("text")
    if not isinstance(text, str) or part.get("is_error") is False or (words := rejection(text)) is None:
        return [result(part, name, whole)]
    start, end = words
    return [result({**part, "content": f"{text[:start]}{text[end:]}"}, name, whole), Text(text[start:end])]


def answer_blocks(content: Any, name: Name, whole: Whole) -> list[Block]:
    """Return the parts of an answer of the model."""
    if isinstance(content, str):
        return [_said(content)]
    blocks: list[Block] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            if part is not None:
                blocks.append(_said(part) if isinstance(part, str) else Unknown(part))
            continue
        kind = part.get("type")
        if not isinstance(kind, str):
            blocks.append(_other(part))
        elif kind == "text" and isinstance(words := part.get("text"), str):
            blocks.append(_said(words))
        elif kind in _CALLS and isinstance(called := part.get("name"), str):
            identity = part.get("id")
            blocks.append(_call(identity if isinstance(identity, str) else None, called, part.get("input"), _CALLS[kind]))
        elif kind == "thinking" and isinstance(thought := part.get("thinking"), str):
            blocks.append(Thinking(thought) if thought else Thinking("", hidden=True, data=part))
        elif kind == "redacted_thinking":
            blocks.append(Thinking("", hidden=True, data=part))
        elif kind.endswith("tool_result"):
            blocks.append(result(part, name, whole))
        else:
            blocks.append(_other(part))
    return blocks


_CALLS = {"tool_use": "function", "server_tool_use": "server_tool_use", "mcp_tool_use": "mcp_tool_use"}


def _said(text: str) -> Text:
    return plain(text, text == _NO_CONTENT)


def result(part: Mapping[str, Any], name: Name, whole: Whole) -> ToolResult:
    """Return what a tool gave back."""
    identity = part.get("tool_use_id")
    call_id = identity if isinstance(identity, str) else None
    error = part.get("is_error")
    content = part.get("content")
    blocks: list[Block] = []
    for piece in content if isinstance(content, list) else [content]:
        text = piece.get("text") if isinstance(piece, dict) and piece.get("type") == "text" else piece
        if isinstance(text, str):
            if text.startswith("<persisted-output>"):
                text = whole(text) or text
            blocks += result_parts(text)
        elif isinstance(piece, dict):
            blocks.append(_other(piece))
        elif piece is not None:
            blocks.append(Unknown(piece))
    return _result(call_id, name(call_id), blocks, error if isinstance(error, bool) else None)


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) else ""


def _other(part: dict[str, Any]) -> Block:
    kind = _kind(part)
    source = part.get("source")
    if kind == "image" and isinstance(source, dict):
        media, data, url = (v if isinstance(v, str) else None for v in map(source.get, ("media_type", "data", "url")))
        if data is not None or url is not None:
            return Image(media, data, url)
    if kind in ("document", "search_result", "tool_reference"):
        name = part.get("title") or part.get("tool_name")
        return Attachment(kind, name if isinstance(name, str) else None, part)
    return Unknown(part)


# ---------------------------------------------------------------------------------------------------------- one message


def joined(blocks: list[Block], more: list[Block]) -> list[Block]:
    """Return the parts of a message with those of a further line of it, which may repeat some, or have them longer."""
    if blocks and len(more) >= len(blocks) and all(map(_is_grown, blocks, more)):
        return more
    out = list(blocks)
    for block in more:
        if isinstance(block, ToolCall):
            place = _place_of(block, blocks)
            if place is None:
                out.append(block)
            elif block.arguments:
                out[place] = block
        elif isinstance(block, _WORDS):
            if out and _is_grown(out[-1], block):
                out[-1] = block
            elif len(block.text) <= _SHORT or block not in out:
                out.append(block)
        else:
            out.append(block)
    return out


def _place_of(call: ToolCall, blocks: list[Block]) -> int | None:
    """Return where a call of the same id stands, the last such; None where there is none."""
    if call.id is not None:
        for place in range(len(blocks) - 1, -1, -1):
            block = blocks[place]
            if isinstance(block, ToolCall) and block.id == call.id:
                return place
    return None


_WORDS = (Text, Thinking)
_SHORT = 20
"""Texts up to so many characters may well be said twice in one message."""


def _is_grown(block: Block, other: Block) -> bool:
    """Return whether a part is another one once more, or further on."""
    if type(block) is not type(other):
        return False
    if isinstance(block, Text) and isinstance(other, Text):
        return other.text.startswith(block.text) and bool(block.text.strip())
    if isinstance(block, Thinking) and isinstance(other, Thinking):
        return other.text.startswith(block.text) and bool(block.text) if block.text else block == other
    if isinstance(block, ToolCall) and isinstance(other, ToolCall):
        return block.id is not None and block.id == other.id
    return block == other


def usage_of(said: Any) -> Usage | None:
    """Return the tokens that an answer says it took, None where it says nothing."""
    if not isinstance(said, dict):
        return None
    get = said.get
    nested = get("cache_creation")
    details = get("output_tokens_details")
    to_cache = _count(get("cache_creation_input_tokens"))
    if isinstance(nested, dict):
        by_time = _count(nested.get("ephemeral_5m_input_tokens")) + _count(nested.get("ephemeral_1h_input_tokens"))
        to_cache = by_time if by_time > to_cache else to_cache
    return _usage(
        input=_count(get("input_tokens")),
        output=_count(get("output_tokens")),
        cache_read=_count(get("cache_read_input_tokens")),
        cache_write=to_cache,
        reasoning=_count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
    )


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value < 2**62 else 0


def most(one: Usage | None, other: Usage | None) -> Usage | None:
    """Return the greater of what two lines of one answer say, count by count: early lines have placeholders."""
    if one is other or one is None or other is None:
        return one or other
    return Usage(**{key: max(getattr(one, key), getattr(other, key)) for key in _COUNTS})


_COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning")

_SAVED = re.compile(r"saved to:? *([^\n<>]{1,4096})")


def saved_path(text: str) -> str | None:
    """Return where a preview says that the whole output is."""
    found = _SAVED.search(text, 0, 8_000)
    return found[1].strip() if found else None

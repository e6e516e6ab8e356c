"""
The parts of response items: texts, pictures, calls of tools and what came of them.
"""

from __future__ import annotations

import re
from typing import Any

from satchel.errors import JsonError
from satchel.formats.codex.injected import asked, is_image_mark, is_injected
from satchel.formats.codex.shapes import text_of
from satchel.formats.model import Attachment, Block, Image, Text, Thinking, ToolCall, ToolResult, Unknown
from satchel.frozen import maker
from satchel.jsontext import dumps, loads

__all__ = ["arguments", "call", "image", "parts", "person_parts", "result", "thinking"]

_text, _call = maker(Text), maker(ToolCall)
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*?;base64,", re.ASCII)
_EXIT = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)\s*$", re.MULTILINE)
_WALL = re.compile(r"^Wall time:? ([\d.]+) seconds", re.MULTILINE)
_SCRIPT = re.compile(r"Script (completed|failed|terminated|running with cell ID \S+)\nWall time")
_HEAD = 600
_TIMED = ("Exit code:", "Chunk ID:", "Wall time:", "Command:")
_ENDED = (*_TIMED, "Process exited")
_FAILED = ("failed in sandbox", "error:", "tool call error:", "execution error", "aborted", "unsupported call:", "err: ")
_KINDS = re.compile(
    r"instruction|context|environment|skill|plugin|injected|harness|agents_md|hook|reminder|permission"
    r"|notification|aborted|shell_command|warning|suggestion|compaction|exec\.completion|guardian|catalog|budget|realtime_conversation"
)
_TEXTS = frozenset(["input_text", "output_text", "text", "summary_text", "reasoning_text", "Text", "refusal"])


def image(url: Any, media_type: str | None = None) -> Image:
    """Return a picture by its address, which mostly is the picture itself."""
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str):
        return Image(media_type)
    found = _DATA.match(url)
    if found is None:
        return Image(media_type, url=url)
    return Image(found[1] or media_type, data=url[found.end() :])


def _part(part: Any, *, injected: bool = False) -> Block:
    if isinstance(part, str):
        return Text(part, injected)
    if not isinstance(part, dict):
        return Unknown(part)
    kind = text_of(part.get("type"))
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str) and (kind in _TEXTS or kind is None):
        return _text(text, injected)
    if kind in ("input_image", "image", "image_url"):
        url = part.get("image_url")
        if isinstance(url.get("url") if isinstance(url, dict) else url, str):
            return image(url)
        if isinstance(part.get("data"), str):
            return Image(text_of(part.get("mimeType")), data=part["data"])
        if isinstance(part.get("file_id"), str):
            return Attachment("image", part["file_id"], part)
        return Unknown(part)
    if kind in ("input_audio", "audio"):
        return Attachment("audio", None, part)
    if kind in ("local_image", "file", "input_file"):
        return Attachment(str(kind), text_of(part.get("path") or part.get("filename")), part)
    if kind == "tool_use":
        return ToolCall(text_of(part.get("id")), str(part.get("name") or ""), part.get("input"))
    if kind == "tool_result":
        return ToolResult(text_of(part.get("tool_use_id") or part.get("id")), None, parts(part.get("content")))
    if kind == "encrypted_content":
        held = part.get("encrypted_content", text)
        if isinstance(held, str) and not held.startswith("gAAAA"):
            return Text(held, injected)
        return Thinking("", hidden=True, data=part)
    return Unknown(part)


def parts(content: Any, *, injected: bool = False) -> list[Block]:
    """Return the parts of a content, whatever its form."""
    if content is None or content == "":
        return []
    if isinstance(content, list):
        return [_part(part, injected=injected) for part in content]
    return [_part(content, injected=injected)]


def person_parts(content: Any, *, kinds: Any = None, injected: bool = False) -> tuple[list[Block], bool]:
    """
    Return the parts of what stands under a person's role, those that the program put in marked; and whether any was typed.

    Args:
        kinds: What the program says of each part, where it does.
        injected: None of it was typed.
    """
    given = content if isinstance(content, list) else [content]
    pictured = any(isinstance(part, dict) and part.get("type") in ("input_image", "local_image", "image") for part in given)
    blocks: list[Block] = []
    typed = False
    for at, block in enumerate(parts(content)):
        if not isinstance(block, Text):
            blocks.append(block)
            typed = typed or (not injected and not isinstance(block, ToolResult))
            continue
        text = block.text
        kind = kinds[at] if isinstance(kinds, list) and at < len(kinds) else None
        if (
            injected
            or is_injected(text)
            or (isinstance(kind, str) and _KINDS.search(kind.lower()))
            or (pictured and is_image_mark(text))
        ):
            blocks.append(Text(text, injected=True))
        else:
            before, prompt = asked(text)
            if before:
                blocks.append(Text(before, injected=True))
            if prompt or not before:
                blocks.append(Text(prompt))
            typed = typed or bool(prompt.strip())
    return blocks, typed


def thinking(payload: dict[str, Any]) -> list[Block]:
    """Return the parts of a reasoning item: what can be read of it, and the opaque form."""
    blocks: list[Block] = []
    for key in ("summary", "content"):
        held = payload.get(key)
        for part in held if isinstance(held, list) else [] if held is None else [held]:
            block = _part(part)
            blocks.append(Thinking(block.text) if isinstance(block, Text) else block)
    sealed = payload.get("encrypted_content")
    if sealed is not None:
        blocks.append(Thinking("", hidden=True, data={"encrypted_content": sealed}))
    return blocks


def arguments(value: Any) -> Any:
    """Return the arguments of a call, parsed where they are a text that holds an object or a list of JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return loads(value)
        except (JsonError, ValueError):
            return value
    return value


def call(kind: str, payload: dict[str, Any]) -> ToolCall:
    """Return the call that an item of this type is."""
    id = text_of(payload.get("call_id")) or text_of(payload.get("id"))
    if kind == "local_shell_call":
        return ToolCall(id, "local_shell", payload.get("action"), "local_shell")
    if kind == "custom_tool_call":
        return ToolCall(id, _name(payload) or "custom", payload.get("input"), "custom")
    if kind == "web_search_call":
        return ToolCall(id, "web_search", payload.get("action"), "web_search")
    if kind == "tool_search_call":
        return ToolCall(id, "tool_search", arguments(payload.get("arguments")), "tool_search")
    if kind == "image_generation_call":
        return ToolCall(id, "image_generation", {"prompt": payload.get("revised_prompt")}, "image_generation")
    return _call(id, _name(payload), arguments(payload.get("arguments", payload.get("input"))))


def _name(payload: dict[str, Any]) -> str:
    function = payload.get("function")
    name = text_of(payload.get("name")) or (text_of(function.get("name")) if isinstance(function, dict) else None) or ""
    space = text_of(payload.get("namespace"))
    if space is None or name.startswith(space):
        return name
    if space.startswith("mcp__"):
        return f"{space}{'' if space.endswith('__') else '__'}{name}"
    return f"{space}.{name}"


def result(output: Any) -> tuple[list[Block], bool | None, dict[str, Any]]:
    """
    Return what came of a call: its parts, whether it failed (None where that is not said), and how it ended.

    An output in a wrapping of JSON is taken out of it; one that begins with lines on how it ended stays as the model saw it.
    """
    if isinstance(output, str):
        return _said(output)
    if isinstance(output, list):
        blocks = parts(output)
        ended: dict[str, Any] = {}
        failed = None
        if blocks and isinstance(blocks[0], Text):
            _, failed, ended = _said(blocks[0].text)
        return blocks, failed, ended
    if isinstance(output, dict):
        if output.get("type") in ("input_text", "output_text", "text", "input_image", "image", "encrypted_content"):
            return parts([output]), None, {}
        return _wrapped(output) or ([Text(_json(output))], None, {})
    return parts(output), None, {}


def _said(output: str) -> tuple[list[Block], bool | None, dict[str, Any]]:
    if not output:
        return [], None, {}
    first = output.lstrip()[:2]
    if first[:1] == "{" and '"output"' in output[:40] + output[-2000:]:
        held = arguments(output)
        wrapped = _wrapped(held) if isinstance(held, dict) else None
        if wrapped is not None:
            return wrapped
    elif first[:1] == "[" and '"type"' in output:
        held = arguments(output)
        if isinstance(held, list) and held and all(_is_mcp(part) for part in held):
            return parts(held), None, {}
    head = output[:_HEAD].partition("Output:")[0]
    ended: dict[str, Any] = {}
    failed: bool | None = None
    script = _SCRIPT.match(head)
    if output.startswith(_ENDED) and (found := _EXIT.search(head)) is not None:
        ended["exit_code"] = int(found[1])
        failed = found[1] != "0"
    elif script is not None:
        failed = {"completed": False, "failed": True}.get(script[1])
    elif output[:40].lower().startswith(_FAILED):
        failed = True
    is_told = script is not None or output.startswith(_TIMED)
    if is_told and (wall := _WALL.search(head)) is not None:
        ended["seconds"] = _number(wall[1])
    return [_text(output)], failed, ended


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_mcp(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "image", "audio", "resource", "resource_link")


def _wrapped(held: dict[str, Any]) -> tuple[list[Block], bool | None, dict[str, Any]] | None:
    """Take an output out of its wrapping; None where it has none that is known."""
    meta = held.get("metadata")
    if isinstance(held.get("output"), str) and held.keys() <= {"output", "metadata"}:
        ended: dict[str, Any] = {}
        failed = None
        if isinstance(meta, dict):
            code = meta.get("exit_code")
            if type(code) is int:
                ended["exit_code"] = code
                failed = code != 0
            if type(meta.get("duration_seconds")) in (int, float):
                ended["seconds"] = meta["duration_seconds"]
        return parts(held["output"]), failed, ended
    error = held.get("isError", held.get("is_error"))
    failed = error if isinstance(error, bool) else None
    if "content" in held and held.keys() <= {"content", "success", "content_items", "isError", "is_error"}:
        success = held.get("success")
        items = held.get("content_items")
        content = items if isinstance(items, list) and items else held["content"]
        return parts(content), failed if not isinstance(success, bool) else not success, {}
    if failed is not None:
        return [Text(_json(held))], failed, {}
    code = held.get("exitCode", held.get("exit_code"))
    if type(code) is int:
        return [Text(_json(held))], code != 0, {"exit_code": code}
    return None


def _json(value: Any) -> str:
    return dumps(value).decode("utf-8", "replace")

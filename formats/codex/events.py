"""
Messages from events, where the items that they tell of are missing.
"""

from __future__ import annotations

from typing import Any

from satchel.formats.codex.items import arguments, image, parts, person_parts
from satchel.formats.codex.shapes import text_of, texts
from satchel.formats.model import Attachment, Author, Block, Image, Text, Thinking, ToolCall, ToolResult
from satchel.jsontext import dumps

__all__ = ["Found", "event_message"]

_FAILED = {"failed": True, "declined": True, "completed": False}
"""How a call ended, by its status."""

Found = tuple[str, Author, list[Block]]


def event_message(kind: str, payload: dict[str, Any], item: dict[str, Any]) -> Found | None:
    """Return role, author and parts of the message that an event is, None for one that is none."""
    if kind == "item_completed":
        return _item(str(item.get("type")), item)
    if kind == "user_message":
        blocks, typed = person_parts(payload.get("message"))
        blocks += [image(url) for url in _list(payload.get("images"))]
        blocks += [Attachment("image", path) for path in _list(payload.get("local_images")) if isinstance(path, str)]
        return "user", "person" if typed or len(blocks) > 1 else "harness", blocks
    if kind == "agent_message":
        return "assistant", "model", parts(payload.get("message"))
    if kind in ("task_complete", "turn_complete"):
        return "assistant", "model", parts(payload.get("last_agent_message"))
    if kind in ("agent_reasoning", "agent_reasoning_raw_content"):
        return "assistant", "model", [Thinking(str(payload.get("text") or ""))]
    return _tool(kind, payload)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _item(kind: str, item: dict[str, Any]) -> Found | None:
    if kind == "UserMessage":
        blocks, typed = person_parts(item.get("content"))
        return "user", "person" if typed else "harness", blocks
    if kind == "AgentMessage":
        return "assistant", "model", parts(item.get("content"))
    if kind == "Reasoning":
        thoughts = [*texts(item.get("summary_text")), *texts(item.get("raw_content"))]
        return "assistant", "model", [Thinking(thought) for thought in thoughts]
    return _tool(kind, {**item, "call_id": item.get("id")})


def _tool(kind: str, payload: dict[str, Any]) -> Found | None:
    """Return a call with what came of it: an event on its end has both."""
    id = text_of(payload.get("call_id"))
    failed: bool | None = None
    name: str
    given: Any
    made: list[Block] = []
    if kind in ("exec_command_end", "CommandExecution"):
        name, given = "exec_command", {"command": payload.get("command"), "workdir": payload.get("cwd")}
        made = parts(payload.get("aggregated_output") or payload.get("formatted_output") or payload.get("stdout"))
        code = payload.get("exit_code")
        failed = code != 0 if type(code) is int else _FAILED.get(str(payload.get("status")))
    elif kind in ("patch_apply_end", "FileChange"):
        name, given = "apply_patch", {"changes": payload.get("changes")}
        made = parts(f"{payload.get('stdout') or ''}{payload.get('stderr') or ''}")
        success = payload.get("success")
        failed = not success if isinstance(success, bool) else _FAILED.get(str(payload.get("status")))
    elif kind in ("mcp_tool_call_end", "McpToolCall"):
        inner = payload.get("invocation")
        invoked: dict[str, Any] = inner if isinstance(inner, dict) else payload
        name = f"mcp__{invoked.get('server')}__{invoked.get('tool')}"
        given = arguments(invoked.get("arguments"))
        made, failed = _mcp(payload.get("result"))
    elif kind in ("web_search_end", "WebSearch"):
        return "assistant", "model", [ToolCall(id, "web_search", payload.get("action") or payload.get("query"), "web_search")]
    elif kind in ("image_generation_end", "ImageGeneration"):
        asked = ToolCall(id, "image_generation", {"prompt": payload.get("revised_prompt")}, "image_generation")
        data = text_of(payload.get("result"))
        return "assistant", "model", [asked, Image("image/png", data=data)] if data else [asked]
    elif kind == "tool_call":
        return "assistant", "model", [ToolCall(id, str(payload.get("name") or ""), arguments(payload.get("input")))]
    else:
        name = str(payload.get("tool") or payload.get("name") or kind)
        given = arguments(payload.get("arguments"))
        made = parts(payload.get("content_items"))
    return "assistant", "model", [ToolCall(id, name, given), ToolResult(id, name, made, failed)]


def _mcp(result: Any) -> tuple[list[Block], bool | None]:
    if not isinstance(result, dict):
        return parts(result), None
    if "Err" in result:
        return [Text(str(result["Err"]))], True
    ok = result.get("Ok", result)
    if isinstance(ok, dict) and isinstance(ok.get("content"), list):
        return parts(ok["content"]), bool(ok.get("isError", ok.get("is_error")))
    return [Text(dumps(ok).decode("utf-8", "replace"))], False

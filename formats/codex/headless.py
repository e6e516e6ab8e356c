"""
What `codex exec --json` prints, which people keep in files of their own: the answers of a thread, without its prompts and times.

Each item is told of when it begins, while it goes on and when it is complete. The last of these lines is the message.
"""

from __future__ import annotations

from typing import Any

from satchel.formats.codex.events import Found, event_message
from satchel.formats.codex.shapes import text_of, words
from satchel.formats.model import ToolCall

__all__ = ["ITEM_LINES", "captured_message", "item_of", "thread_of"]

ITEM_LINES = ("item.started", "item.updated", "item.completed")
_TOOLS = {
    "command_execution": "CommandExecution",
    "file_change": "FileChange",
    "mcp_tool_call": "McpToolCall",
    "web_search": "WebSearch",
}
_NO_ARGUMENTS = words("id type item_type status")


def thread_of(line: dict[str, Any]) -> str | None:
    """Return the thread that a line says was begun or taken up."""
    if line.get("type") in ("thread.started", "session.created"):
        return text_of(line.get("thread_id")) or text_of(line.get("session_id"))
    return None


def item_of(line: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the item that a line tells of, its type first; "" for other lines."""
    item = line.get("item")
    if line.get("type") not in ITEM_LINES or not isinstance(item, dict):
        return "", {}
    return text_of(item.get("type")) or text_of(item.get("item_type")) or "", item


def captured_message(kind: str, item: dict[str, Any]) -> Found | None:
    """Return role, author and parts of the message that an item is, None for one that is none."""
    id = text_of(item.get("id"))
    if kind in ("agent_message", "assistant_message"):
        return event_message("agent_message", {"message": item.get("text")}, {})
    if kind == "reasoning":
        return event_message("agent_reasoning", {"text": item.get("text")}, {})
    if kind == "mcp_tool_call" and isinstance(error := item.get("error"), dict) and item.get("result") is None:
        item = {**item, "result": {"Err": error.get("message", error)}}
    if kind in _TOOLS:
        return event_message("item_completed", {}, {**item, "type": _TOOLS[kind]})
    if kind == "todo_list":
        return "assistant", "model", [ToolCall(id, "update_plan", {"plan": item.get("items")})]
    if kind == "collab_tool_call":
        given = {key: value for key, value in item.items() if key not in _NO_ARGUMENTS}
        return "assistant", "model", [ToolCall(id, text_of(given.pop("tool", None)) or kind, given)]
    return None

"""
What a line of a rollout is, whatever its age: the envelope taken off, times and texts read.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from satchel.formats.log_store import second as log_second

__all__ = [
    "CAPTURED",
    "CAPTURED_ITEMS",
    "ITEMS",
    "TOPS",
    "is_line",
    "is_prompt",
    "item_type",
    "second",
    "shape",
    "text_of",
    "texts",
    "time_of",
    "words",
]


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


TOPS = words(
    """session_meta response_item event_msg turn_context compacted inter_agent_communication
    inter_agent_communication_metadata token_usage_record world_state retained_context security_risk_score
    realtime_item rollout_reference state"""
)
"""Types of lines in an envelope."""

CALLS = words(
    """function_call local_shell_call custom_tool_call tool_search_call web_search_call image_generation_call tool_call"""
)
OUTPUTS = words(
    """function_call_output custom_tool_call_output tool_search_output local_shell_call_output mcp_tool_call_output
    tool_result function_result"""
)
_OTHERS = words(
    """agent_message reasoning compaction compaction_summary context_compaction ghost_snapshot additional_tools
    configuration_update compaction_trigger"""
)
ITEMS = CALLS | OUTPUTS | _OTHERS | {"message"}
"""Types of response items: what the model was given and what it gave."""

CAPTURED = words(
    "thread.started turn.started turn.completed turn.failed item.started item.updated item.completed session.created"
)
"""Types of lines that `codex exec --json` prints."""
CAPTURED_ITEMS = words(
    """agent_message assistant_message reasoning command_execution file_change mcp_tool_call collab_tool_call web_search todo_list
    error"""
)

_PARTS = frozenset(["input_text", "output_text", "input_image", "input_audio"])
_OF_OTHERS = ("sessionId", "uuid", "leafUuid", "messages")
"""Keys of other agents' lines."""


def shape(data: Any) -> tuple[str, dict[str, Any], bool]:
    """
    Return the type of a line, its payload, and whether it stands bare: without an envelope, as in 2025's first half.

    The type is "" where nobody can tell; a line of the history of prompts is a "prompt", one that was printed "captured".
    """
    if type(data) is not dict:
        return "", {}, True
    kind = data.get("type") or data.get("record_type")
    if isinstance(kind, str):
        payload = data.get("payload")
        if type(payload) is dict:
            return kind, payload, False
        if kind in ITEMS:
            return "response_item", data, True
        if kind in CAPTURED or (kind == "error" and isinstance(data.get("message"), str)):
            return "captured", data, True
        return kind, data, True
    if isinstance(data.get("role"), str):
        return "response_item", data, True
    if type(data.get("session")) is dict:
        return "session_meta", data["session"], True
    if is_prompt(data):
        return "prompt", data, True
    if isinstance(data.get("id"), str) and ("timestamp" in data or "instructions" in data):
        return "session_meta", data, True
    return "", data, True


def is_line(data: Any) -> bool:
    """Return whether a line is surely Codex'."""
    if type(data) is not dict or any(key in data for key in _OF_OTHERS):
        return False
    kind = data.get("type", data.get("record_type"))
    if kind is not None and not isinstance(kind, str):
        return False
    if isinstance(data.get("payload"), dict):
        return kind in TOPS
    if data.get("record_type") == "state":
        return True
    if kind == "message":
        content = data.get("content")
        return (
            isinstance(content, list)
            and bool(content)
            and all(isinstance(part, dict) and text_of(part.get("type")) in _PARTS for part in content)
        )
    if kind in ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call"):
        return isinstance(data.get("call_id"), str)
    if kind == "reasoning":
        return isinstance(data.get("summary"), list)
    if kind == "thread.started":
        return isinstance(data.get("thread_id"), str)
    if kind in CAPTURED and isinstance(item := data.get("item"), dict):
        return text_of(item.get("type") or item.get("item_type")) in CAPTURED_ITEMS
    if kind is None and "role" not in data:
        # A bare header.
        return isinstance(data.get("id"), str) and isinstance(data.get("timestamp"), str) and "instructions" in data
    return False


def is_prompt(data: Any) -> bool:
    """Return whether a line is one of the history of prompts."""
    return (
        type(data) is dict
        and isinstance(data.get("text"), str)
        and isinstance(data.get("session_id") or data.get("conversation_id"), str)
        and type(data.get("ts")) in (int, float)
    )


def item_type(payload: dict[str, Any]) -> str:
    """Return the type of a response item; some writers leave that of a message out."""
    kind = payload.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if isinstance(payload.get("role"), str) else ""


second = partial(log_second, least=1e8)
"""Return a time as seconds since the epoch, also from a number of seconds."""


def time_of(data: Any, payload: dict[str, Any]) -> float | None:
    """Return when a line was written."""
    if type(data) is not dict:
        return None
    written = data.get("timestamp")
    if type(written) is str and (time := log_second(written)) is not None:
        return time
    for value in (written, payload.get("timestamp"), data.get("created_at"), data.get("ts")):
        if value is not None and (time := second(value)) is not None:
            return time
    return None


def text_of(value: Any) -> str | None:
    """Return a text that is not empty, or None."""
    return value if isinstance(value, str) and value else None


def texts(content: Any) -> list[str]:
    """Return the texts of a message's parts."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            found.append(part["text"])
    return found

"""What is known of the files: roles, keys and kinds of parts. What is not in these tables is drift, and is kept all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["DOCUMENT_KEYS", "MESSAGE_KEYS", "META_KEYS", "PARTS", "ROLES", "in_document", "in_line"]

ROLES = frozenset(["user", "assistant", "tool", "system", "developer", "function"])
"""Roles of messages; "session_meta" is that of a transcript's first line."""

META_KEYS = frozenset(["role", "tools", "model", "platform", "timestamp"])

MESSAGE_KEYS = frozenset(
    [
        "role",
        "content",
        "timestamp",
        "message_id",
        "tool_calls",
        "tool_call_id",
        "tool_name",
        "name",
        "finish_reason",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "codex_reasoning_items",
        "codex_message_items",
        "mirror",
        "mirror_source",
        # Of rows that the database could not take.
        "_compressed_summary",
        "_row_id",
        "active",
        "api_content",
        "compacted",
        "display_kind",
        "display_metadata",
        "effect_disposition",
        "observed",
        "platform_message_id",
        "token_count",
    ]
)

PARTS = frozenset(
    [
        "text",
        "input_text",
        "output_text",
        "image_url",
        "input_image",
        "image",
        "input_audio",
        "audio",
        "file",
        "input_file",
        "document",
    ]
)
"""Types of the parts of a content that is a list."""

DOCUMENT_KEYS = {
    "snapshot": frozenset(
        [
            "session_id",
            "model",
            "base_url",
            "platform",
            "session_start",
            "last_updated",
            "system_prompt",
            "tools",
            "message_count",
            "messages",
        ]
    ),
    "saved": frozenset(["model", "session_id", "session_start", "system_prompt", "messages"]),
    "request_dump": frozenset(["timestamp", "session_id", "reason", "request", "error"]),
    "pending": frozenset(["session_key", "session_id", "reason", "ts", "data", "schema", "version", "runtime_home", "events"]),
}
"""Top-level keys of the files that are one object, by kind."""


def in_document(kind: str, data: Any) -> Iterator[str]:
    """Yield what is not known of a file that is one object."""
    if isinstance(data, dict):
        yield from (f"key:{kind}.{key}" for key in data if key not in DOCUMENT_KEYS.get(kind, data))


def in_line(data: Any) -> Iterator[str]:
    """Yield what is not known of a message or another line."""
    if not isinstance(data, dict):
        if data is not None:
            yield f"type:{type(data).__name__}"
        return
    role = data.get("role")
    if role == "session_meta":
        yield from (f"key:session_meta.{key}" for key in data if key not in META_KEYS)
        return
    if not (isinstance(role, str) and role in ROLES) and ("role" in data or "content" not in data):
        yield f"type:{role}"[:60]
    yield from (f"key:{role}.{key}"[:120] for key in data if key not in MESSAGE_KEYS)
    parts = data.get("content")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and str(part.get("type")) not in PARTS:
            yield f"block:{part.get('type')}"[:60]

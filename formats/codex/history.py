"""
Codex' history of prompts, `history.jsonl`.
"""

from __future__ import annotations

from satchel.contracts import Record
from satchel.formats.codex.shapes import is_prompt, second
from satchel.formats.prompt_history import Prompt

__all__ = ["prompt_of"]


def prompt_of(record: Record) -> Prompt | None:
    """Return the prompt that a line is."""
    data = record.data
    if not is_prompt(data):
        return None
    return Prompt(str(data.get("session_id") or data["conversation_id"]), data["text"], second(data["ts"]))

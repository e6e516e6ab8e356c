"""
Claude Code's history of prompts, `history.jsonl`.
"""

from __future__ import annotations

from hashlib import sha256

from satchel.contracts import Record
from satchel.formats.claude_code.scan import is_prompt_line
from satchel.formats.log_store import second
from satchel.formats.prompt_history import Prompt

__all__ = ["prompt_of"]


def prompt_of(record: Record) -> Prompt | None:
    """
    Return the prompt that a line is.

    Early versions did not write the session's id: such prompts are kept by project, and may stand in transcripts too.
    """
    data = record.data
    if not is_prompt_line(data):
        return None
    project = data["project"] if isinstance(data.get("project"), str) else None
    said = data.get("sessionId")
    is_assigned = isinstance(said, str) and bool(said)
    session = said if is_assigned else f"history-{sha256((project or '').encode('utf-8', 'replace')).hexdigest()[:12]}"
    return Prompt(session, data["display"], second(data.get("timestamp")), project, is_assigned)

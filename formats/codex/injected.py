"""
What Codex' program puts under a person's role, and how it is told from what was typed.

A text counts as put in when all of it is known fragments, each with its beginning and its end: real
prompts may begin with "<" too.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["asked", "is_image_mark", "is_injected", "normal"]

_NAMES = [
    "user_instructions",
    "environment_context",
    "environments_instructions",
    "skill",
    "skills_instructions",
    "plugins_instructions",
    "recommended_plugins",
    "apps_instructions",
    "tools",
    "user_shell_command",
    "turn_aborted",
    "subagent_notification",
    "additional_context",
    "agent_message_board_notification",
    "child_agents_instructions",
    "extension_context",
    "js_repl_instructions",
    "mcp_instructions",
    "next_prompt_suggestion",
    "realtime_delegation",
    "skills_section",
    "token_budget",
    "goal_context",
    "codex_internal_context",
    "hook_prompt",
    "collaboration_mode",
    "multi_agent_mode",
    "realtime_conversation",
    "context_window",
    "context_window_guidance",
    "model_switch",
    "personality_spec",
    "user_action",
    "instructions",
]

_OPEN = re.compile(
    rf"<({'|'.join(_NAMES)}|permissions instructions|external_[a-z0-9_.-]+)(?:\s[^>]*)?>|# AGENTS\.md instructions\b",
    re.IGNORECASE,
)
_WARNINGS = (
    "warning: the maximum number of unified exec processes",
    "warning: apply_patch was requested via exec_command",
    "warning: your account was flagged for",
)
# With these the program hands a conversation on to its next context, and asks for that.
_HANDED_ON = (
    "Another language model started to solve this problem and produced a summary of its thinking process",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "You were originally given instructions from a user over one or more turns. Here were the user messages:",
)
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_ASKS = "## My request for Codex:"
_IMAGE = re.compile(r"<image(?:\s[^>]*)?>|</image>", re.IGNORECASE)
_ENDS = 150
_FRAGMENTS = 20


def is_injected(text: str) -> bool:
    """Return whether all of a text is what the program puts in."""
    text = text.strip()
    found = _OPEN.match(text)
    if found is None:
        return text.startswith(_HANDED_ON) or (text.lower().startswith(_WARNINGS) and "\n" not in text)
    for _ in range(_FRAGMENTS):
        close = f"</{found[1] or 'INSTRUCTIONS'}>"
        if found[1] is None and "\n" not in text:
            return True
        if text[-len(close) :].lower() == close.lower():
            return True
        closed = re.search(re.escape(close), text, re.IGNORECASE)
        if closed is None:
            return False
        text = text[closed.end() :].strip()
        if not text:
            return True
        found = _OPEN.match(text)
        if found is None:
            return False
    return False


def asked(text: str) -> tuple[str, str]:
    """Return what an editor put before a prompt, up to the mark that ends it, and the prompt."""
    if _ASKS not in text:
        return "", text
    found = _REQUEST.search(text)
    if found is None or not text.lstrip().startswith(("#", "<")):
        return "", text
    return text[: found.end()], text[found.end() :]


def is_image_mark(text: str) -> bool:
    """Return whether a text is one of the marks around a picture."""
    return _IMAGE.fullmatch(text.strip()) is not None


def normal(text: str) -> int:
    """Return what two writings of one text have in common: a hash of its words, without what an editor put before them."""
    text = asked(text)[1].strip()
    if len(text) > 2 * _ENDS:
        # The ends of a long one tell it from others.
        text = f"{text[:_ENDS]} {text[-_ENDS:]}"
    return _words(text)


@lru_cache(maxsize=256)
def _words(text: str) -> int:
    # Both writings of a text stand near each other, and are mostly alike.
    return hash(" ".join(text.split()))

"""
How placeholders are spelled: `[REDACTED:<rule>:<tag>]`.
"""

from __future__ import annotations

import re

__all__ = ["PLACEHOLDER", "spelled"]

PLACEHOLDER = re.compile(r"\[REDACTED:([a-z0-9-]{1,64}):([0-9a-f]{6})\]")
"""A placeholder, its rule and its tag; what stands in one is never looked at, so that redacting twice changes nothing."""


def spelled(rule: str, tag: str) -> str:
    """Return the placeholder of a secret."""
    return f"[REDACTED:{rule}:{tag}]"

"""What tests of redaction share: secrets made on the spot, an engine, a redactor with a known key."""

from __future__ import annotations

import random
import string
from typing import Any

from satchel.redaction.engine import Engine
from satchel.redaction.redactor import SecretRedactor
from satchel.redaction.rules import RuleSet, builtin
from satchel.redaction.tags import TagKey

__all__ = ["KEY", "redactor", "token"]

KEY = TagKey(b"k" * 32)


def token(seed: object = 0) -> str:
    """Return what looks like a credential of GitHub, by a seed."""
    made = random.Random(f"token {seed}")
    letters = string.ascii_letters + string.digits
    while True:
        body = "".join(made.choice(letters) for _ in range(36))
        if any(char.isdigit() for char in body):
            return "gh" + "p_" + body


def redactor(rules: RuleSet | None = None, **options: Any) -> SecretRedactor:
    """Return a redactor of the built-in rules, or of others."""
    engine: Any = options.pop("engine", None) or Engine(rules or builtin())
    return SecretRedactor(engine, tags=options.pop("tags", KEY), **options)

"""What tests of redaction share: secrets made on the spot, an engine, a redactor with a known key."""

from __future__ import annotations

from functools import cache
from typing import Any

from fakes import filled

from satchel.redaction.engine import Engine
from satchel.redaction.redactor import SecretRedactor
from satchel.redaction.rules import RuleSet, builtin
from satchel.redaction.spans import Span
from satchel.redaction.tags import TagKey

__all__ = ["KEY", "looked", "redactor", "token"]

KEY = TagKey(b"k" * 32)


def token(seed: object = 0) -> str:
    """Return what looks like a credential of GitHub, its checksum right, by a seed."""
    return filled("gh" + "p_{crc}", seed=str(seed))


def looked(engine: Engine, text: str) -> list[Span]:
    """Return what is found in a text at the places that a look at it tells, as a redactor finds it."""
    depth, hits = engine.look(["before it", text, "behind it"]).get(1, (0, {}))
    return engine.find(text, hidden=depth > 1 and hits is None, hits=hits) if depth else []


@cache
def _engine() -> Engine:
    return Engine(builtin())


def redactor(rules: RuleSet | None = None, **options: Any) -> SecretRedactor:
    """Return a redactor of the built-in rules, or of others."""
    engine: Any = options.pop("engine", None) or (Engine(rules) if rules is not None else _engine())
    return SecretRedactor(engine, tags=options.pop("tags", KEY), **options)

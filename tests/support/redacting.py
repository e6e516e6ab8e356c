"""What tests of redaction share: secrets made on the spot, an engine, a redactor with a known key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from fakes import filled

from satchel.contracts import Record
from satchel.redaction.engine import Engine
from satchel.redaction.redactor import SecretRedactor
from satchel.redaction.rules import RuleSet, builtin
from satchel.redaction.spans import Span
from satchel.redaction.tags import TagKey

__all__ = ["KEY", "line", "looked", "redactor", "run", "token"]

KEY = TagKey(b"k" * 32)


def token(seed: object = 0) -> str:
    """Return what looks like a credential of GitHub, its checksum right, by a seed."""
    return filled("gh" + "p_{crc}", seed=str(seed))


def looked(engine: Engine, text: str) -> list[Span]:
    """Return what is found in a text at the places that a look at it tells, as a redactor finds it."""
    depth, hits = engine.look(["before it", text, "behind it"]).get(1, (0, {}))
    return engine.find(text, hidden=depth > 1 and hits is None, hits=hits) if depth else []


def line(data: Any, number: int = 1) -> Record:
    """Return a line of a log that says something, or has these bytes."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n"
    try:
        said = json.loads(raw)
    except ValueError:
        said = None
    return Record("line", number, said, raw)


def run(red: SecretRedactor, *sessions: Iterable[Record]) -> list[list[Record]]:
    """Return what is left of the sessions of one family."""
    held = [list(records) for records in sessions]
    red.begin()
    for number, records in enumerate(held):
        red.enter(f"s{number}")
        red.learn(records)
    out = []
    for number, records in enumerate(held):
        red.enter(f"s{number}")
        out.append(list(red.apply(records)))
    return out


@cache
def _engine() -> Engine:
    return Engine(builtin())


def redactor(rules: RuleSet | None = None, **options: Any) -> SecretRedactor:
    """Return a redactor of the built-in rules, or of others."""
    engine: Any = options.pop("engine", None) or (Engine(rules) if rules is not None else _engine())
    return SecretRedactor(engine, tags=options.pop("tags", KEY), **options)

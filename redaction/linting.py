"""
Looks at a user's pattern before it is let near a session: one that could take for ever is refused.

Built-in rules are held to the same by a test. A pattern is refused when a repetition is unbounded or stands inside another one,
and when a probe shows that trying it at one place takes long: texts made of what the pattern itself asks for, longer and longer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise, product
from typing import Any

__all__ = ["fault", "probe"]

_MOST = 4096
_LONGEST = 1 << 14
_PATIENCE = 0.02
"""Seconds of processor time that one try may take; an ordinary pattern takes some microseconds."""


def fault(pattern: str, *, flags: int = 0) -> str:
    """Return why a pattern is refused, or "": its repetitions, then the probe. It has to be a pattern that compiles."""
    tree = import_module("re._parser").parse(pattern, flags)
    why = next(_repetitions(tree, outer=False), "")
    return why or probe(re.compile(pattern, flags), units=_letters(tree), leads=_leads(tree))


def _repetitions(tree: Iterable[Any], *, outer: bool) -> Iterator[str]:
    for kind, argument in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = argument
            most = int(most)
            if most > _MOST:
                yield f"has a repetition without a bound (say {{0,200}} instead of *, at most {_MOST})"
            elif outer and most != int(least):
                yield "has a repetition inside a repetition"
            yield from _repetitions(inner, outer=outer or most > 1)
        elif name == "BRANCH":
            for branch in argument[1]:
                yield from _repetitions(branch, outer=outer)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT", "ASSERT_NOT"):
            inner = argument if name == "ATOMIC_GROUP" else argument[-1]
            yield from _repetitions(inner, outer=outer)
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            yield "refers to one of its own groups"


def _letters(tree: Iterable[Any]) -> list[str]:
    """Return characters that a pattern asks for: one of each class, and its own letters."""
    found: dict[str, None] = {}

    def look(items: Iterable[Any]) -> None:
        for kind, argument in items:
            name = str(kind)
            if name in ("LITERAL", "NOT_LITERAL"):
                found[chr(argument)] = None
            elif name == "RANGE":
                found[chr(argument[0])] = None
            elif name == "CATEGORY":
                found["a" if "WORD" in str(argument) else "0" if "DIGIT" in str(argument) else " "] = None
            elif name == "IN":
                look(argument)
            elif name == "BRANCH":
                for branch in argument[1]:
                    look(branch)
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT", "SUBPATTERN", "ASSERT", "ASSERT_NOT"):
                look(argument[-1])
            elif name == "ATOMIC_GROUP":
                look(argument)

    look(tree)
    return list(found)


def _leads(tree: Iterable[Any]) -> list[str]:
    """Return what has to stand before each part of a pattern for it to be tried: the shortest that the parts before it take."""
    found: dict[str, None] = {}
    before = ""
    for part in tree:
        found[before] = None
        before += _shortest([part])
    return list(found)[-8:]


def _shortest(tree: Iterable[Any]) -> str:
    text = ""
    for kind, argument in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            text += _shortest(argument[2]) * min(int(argument[0]), 64)
        elif name == "BRANCH":
            text += _shortest(argument[1][0])
        elif name == "SUBPATTERN":
            text += _shortest(argument[-1])
        elif name == "ATOMIC_GROUP":
            text += _shortest(argument)
        elif name in ("LITERAL", "IN", "ANY", "CATEGORY"):
            text += next(iter(_letters([(kind, argument)])), "a")
    return text


def probe(pattern: re.Pattern[str], *, units: Iterable[str] = (), leads: Iterable[str] = ("",)) -> str:
    """
    Return why a pattern is too slow, or "".

    Each text is one unit again and again, ended by what nothing matches; it grows in small steps first, so that a pattern whose
    time doubles with every character is caught before it takes a second.

    Args:
        leads: What the texts begin with.
    """
    letters = list(dict.fromkeys([*units, "a", "0", "-", " "]))[:16]
    shapes = [*letters, "".join(letters), *(a + b for a, b in pairwise(letters))]
    for lead, shape in product(leads, shapes):
        size = 4
        while size <= _LONGEST:
            text = lead + (shape * (size // len(shape) + 1))[:size] + "\0"
            began = time.process_time()
            pattern.match(text)
            if time.process_time() - began > _PATIENCE:
                return f"takes too long: it was tried on {size} characters of one kind"
            size += 2 if size < 64 else size
    return ""

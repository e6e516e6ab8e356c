"""
Spans: where in a text something has to go, and why.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

__all__ = ["MEDIUM", "STRONG", "WEAK", "Span", "merged"]

WEAK, MEDIUM, STRONG = 1, 2, 3
"""How sure a rule is. What a strong one finds is removed wherever it stands in the session, and no output may hold it."""


class Span(NamedTuple):
    """A part of a text, in characters: `text[start:end]` is found by `rule`."""

    start: int
    end: int
    rule: str
    strength: int


def merged(spans: Iterable[Span], *, common: Container[str] = ()) -> list[Span]:
    """
    Return the spans in order, those that overlap made one: from the first's start to the last's end, by the surest rule's name.

    Of rules that are equally sure the one with the longer span gives the name, then one that is none of the `common` ones, then
    the one that begins first.
    """
    out: list[Span] = []
    best = (0, 0, False)
    for span in sorted(spans):
        weight = (span.strength, span.end - span.start, span.rule not in common)
        if out and span.start < out[-1].end:
            last = out[-1]
            end = max(last.end, span.end)
            if weight > best:
                best = weight
                out[-1] = Span(last.start, end, span.rule, span.strength)
            else:
                out[-1] = Span(last.start, end, last.rule, last.strength)
        else:
            out.append(span)
            best = weight
    return out

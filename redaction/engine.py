"""
Finds secrets in a text: literals first, all at once; at each hit the rules that have that literal; then their checks.

The engine knows nothing of sessions. `find` takes a text as a person reads it (one string of a record, a file's line); what is
hidden behind escapes, colours or an encoding is found through the views of `satchel.redaction.views`. `may_hold` looks at a whole
record as it is serialised, and says whether any of its strings has to be looked at: most have not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from satchel.redaction import named
from satchel.redaction.literals import finder
from satchel.redaction.rules import Rule, RuleSet
from satchel.redaction.spans import Span, merged

__all__ = ["MASK", "Engine"]

MASK = re.compile(r"\[REDACTED:[a-z0-9-]{1,64}:[0-9a-f]{6}\]")
"""A placeholder; what stands in one is never looked at, so that redacting twice changes nothing."""

_TRIES = 8
_RUN = re.compile(r"[A-Za-z0-9_\-]*")
_WINDOW = 1 << 20
_OVERLAP = 16 << 10


class Engine:
    """
    Rules, ready to be used; it holds nothing of what it found.

    Args:
        native: Use the compiled library for literals where there is one; what is found does not depend on it.
    """

    def __init__(self, rules: RuleSet, *, native: bool = True) -> None:
        self.rules = rules
        self._by_literal: list[list[Rule]] = []
        numbers: dict[str, int] = {}
        for rule in rules.rules:
            for literal in rule.literals:
                folded = literal.lower()
                if folded not in numbers:
                    numbers[folded] = len(numbers)
                    self._by_literal.append([])
                at = self._by_literal[numbers[folded]]
                if rule not in at:
                    at.append(rule)
        for word in named.WORDS:
            if word not in numbers:
                numbers[word] = len(numbers)
                self._by_literal.append([])
        self._words = frozenset(numbers[word] for word in named.WORDS)
        self._literals = list(numbers)
        self._scan = finder(self._literals, native=native)

    def find(self, text: str) -> list[Span]:
        """Return what of a text is secret, in order, without overlaps."""
        if len(text) <= _WINDOW:
            return self._find(text)
        spans: list[Span] = []
        for at in range(0, len(text), _WINDOW - _OVERLAP):
            spans.extend(Span(s.start + at, s.end + at, s.rule, s.strength) for s in self._find(text[at : at + _WINDOW]))
        return merged(spans)

    def _find(self, text: str) -> list[Span]:
        hits = self._scan(_folded(text))
        if not hits:
            return []
        spans: list[Span] = []
        words = [at for number in self._words & hits.keys() for at in hits[number]]
        if words:
            words.sort()
            spans.extend(named.values(text, words))
        for number, starts in hits.items():
            for rule in self._by_literal[number]:
                spans.extend(_matches(rule, self._literals[number], text, starts))
        return merged(_outside_masks(text, spans))


def _folded(text: str) -> str:
    """Return a text in small letters, character by character."""
    folded = text.lower()
    # One capital letter of all becomes two characters.
    return folded if len(folded) == len(text) else text.replace("\u0130", "i").lower()


def _matches(rule: Rule, literal: str, text: str, starts: Sequence[int]) -> Iterator[Span]:
    if rule.search:
        for match in rule.pattern.finditer(text, max(0, starts[0] - 256)):
            yield from _span(rule, text, match, match.start())
        return
    past, failed = -1, 0
    for start in starts:
        if start < past:
            continue
        begin = start
        if rule.left is not None:
            before = rule.left.search(text, max(0, start - 128), start)
            begin = -1 if before is None else before.start()
        match = rule.pattern.match(text, begin) if begin >= 0 else None
        found = match is not None and list(_span(rule, text, match, begin))
        if match is not None and found:
            yield from found
            past, failed = match.end(), 0
        else:
            failed += 1
            if failed >= _TRIES:
                # A literal that stands again and again in its own run: what failed so often fails in the rest of it too.
                run = _RUN.match(text, start)
                past, failed = (run.end() if run else start), 0


def _span(rule: Rule, text: str, match: re.Match[str], begin: int) -> Iterable[Span]:
    start, end = match.span(rule.group)
    if start < 0 or start == end:
        return ()
    if rule.edge and begin > 0 and _is_word(text[begin - 1]) and not _after_escape(text, begin):
        return ()
    value = text[start:end]
    if not all(test(value) for test in rule.checks):
        return ()
    return (Span(start, end, rule.id, rule.strength),)


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


def _after_escape(text: str, at: int) -> bool:
    """Return whether the character before belongs to an escape that ends there: `\\n`, `%3D`, a colour code."""
    return bool(re.search(r"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,16}m)\Z", text[max(0, at - 20) : at]))


def _outside_masks(text: str, spans: list[Span]) -> list[Span]:
    """Take placeholders out of spans: what is redacted already stays as it is."""
    if not spans or "[REDACTED:" not in text:
        return spans
    masks = [match.span() for match in MASK.finditer(text)]
    return [span for span in spans if not any(start < span.end and span.start < end for start, end in masks)]

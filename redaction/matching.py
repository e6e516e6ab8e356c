"""
What a rule finds at the places of its literals in a text, and what belongs to it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from satchel.redaction import named
from satchel.redaction.crowds import OFTEN, Crowd
from satchel.redaction.placeholders import PLACEHOLDER
from satchel.redaction.rules import Rule
from satchel.redaction.spans import STRONG, Span

__all__ = ["BROKEN_RUN", "crowded", "ends_line", "outside_masks", "rule_matches", "with_adjoining"]

_ADJOINING = re.compile(
    r"""(?x)(?P<quote>["'`]) [ \t]{0,16} (?: [+.&]{1,2} | \\(?=\r?\n) )? \s{0,64} (?: [+.&]{1,2} [ \t]{0,4} )?
    [rRbBfFuU]{0,2} (?P=quote) (?P<more>[A-Za-z0-9+/=_.~!@#%^&*:\-]{4,512}) (?P=quote)"""
)


def with_adjoining(text: str, spans: list[Span]) -> list[Span]:
    """Return what was found, and with it the strings that a program joins to it: `"abc" + "def"`."""
    more: list[Span] = []
    for span in spans:
        end = span.end
        for _ in range(64):
            part = _ADJOINING.match(text, end)
            if part is None:
                break
            more.append(Span(*part.span("more"), span.rule, span.strength))
            end = part.end("more")
    return spans + more


def rule_matches(rule: Rule, text: str, starts: Sequence[int], again: list[int]) -> Iterator[Span]:
    """Yield what a rule finds at the hits of its literals; where another reading may show more is added to `again`."""
    if rule.search:
        for one in rule.pattern.finditer(text, max(0, starts[0] - 256)):
            begin = one.start()
            if not (rule.edge and begin and _is_word(text[begin - 1]) and not _after_escape(text, begin)):
                yield from _spans(rule, text, one)
        again.extend(at for at in starts[:_MANY] if named.DISGUISE.search(text, at, at + 256))
        return
    past = -1
    edge, left, match_at = rule.edge, rule.left, rule.pattern.match
    for start in starts:
        if start < past:
            continue
        begin = start
        if left is not None:
            before = left.search(text, max(0, start - 128), start)
            if before is None:
                continue
            begin = before.start()
        if edge and begin and ((char := text[begin - 1]).isalnum() or char == "_") and not _after_escape(text, begin):
            continue
        match = match_at(text, begin)
        found = [] if match is None else _spans(rule, text, match)
        if match is not None and found:
            yield from found
            past = match.end()
            if named.DISGUISE.match(text, past):
                again.append(start)
        elif _UNFINISHED.match(text, start) is not None or (
            BROKEN_RUN.match(text, start) is not None and rule.strength == STRONG and rule.solid
        ):
            # What is known by its beginning alone may be cut right behind it.
            again.append(start)


def ends_line(text: str, span: Span, begins: Sequence[int]) -> bool:
    """Return whether what was found may go on in the next line: it ends with its line, and no finding begins the next."""
    if text[span.end - 1] == "=":
        return False
    end = _BREAK.match(text, span.end)
    if end is None:
        return False
    following = bisect_left(begins, end.end())
    return following == len(begins) or begins[following] > end.end() + _GUTTER


_GUTTER = 16


def crowded(rules: Sequence[Rule], text: str, starts: Sequence[int], again: list[int]) -> Iterator[Span]:
    """
    Yield what rules find at very many hits of their literal.

    Where the same characters stand around a hit again and again, and nothing was found so often, nothing is: so a text of one
    word over and over costs little.
    """
    for rule in rules:
        if rule.search:
            yield from rule_matches(rule, text, starts, again)
    rules = [rule for rule in rules if not rule.search]
    if not rules:
        return
    crowd = Crowd(text, left=16, right=80, enough=OFTEN)
    past = -1
    for at in starts:
        if at < past:
            continue
        past = crowd.past(at)
        if past >= 0:
            continue
        found = [span for rule in rules for span in rule_matches(rule, text, (at,), again)]
        if found:
            yield from found
        else:
            crowd.nothing()


_MANY = 1024
# What stands at the end of a line that goes on in the next one; and a token that reaches so far.
_BREAK = re.compile(r"[\"'`]?[ \t]*(?:\+|\.{1,2}|&|\|\||[│┃║|=])?[ \t]*\\?\r?\n")
_UNFINISHED = re.compile(
    r"[A-Za-z0-9_\-+/=.~:@]{0,64}(?:[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b-\u200f\u2060-\u2064\ufeff]|[ ]?\r(?=[A-Za-z0-9_\-])"
    r"|\\(?:[ux/01e\\]|\r?\n)|%[0-9A-Fa-f]{2}|&[#a-zA-Z]|\^\[\[)"
    r"|(?=[A-Za-z_\-+/=.~:@]{0,64}[0-9])[A-Za-z0-9_\-+/=.~:@]{8,512}[\"'`]?[ \t]*[│┃║|=\\+]?\r?\n"
)
BROKEN_RUN = re.compile(r"[A-Za-z0-9_\-+/=.]{2,512}[\"'`]?[ \t]*[│┃║|=\\+]?\r?\n")


def _spans(rule: Rule, text: str, match: re.Match[str]) -> list[Span]:
    return [
        Span(start, end, rule.id, rule.strength)
        for start, end in rule.parts(match)
        if 0 <= start < end and all(test(text[start:end]) for test in rule.checks)
    ]


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


_ESCAPED = re.compile(
    r"(?:\\[nrtbfvae0]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|%(?:25){0,3}[0-9a-fA-F]{2}|\x1b?\[[0-9;]{1,16}m|\x1b\[m)\Z"
)


def _after_escape(text: str, at: int) -> bool:
    """Return whether the character before ends an escape: `\\n`, `\\x00`, `%3D`, `%2520`, a colour code, one without its ESC."""
    # Most words end in nothing like it, and to see that is cheap.
    if text[at - 1] not in "nrtbfvmABCDEFabcde0123456789":
        return False
    return _ESCAPED.search(text, max(0, at - 20), at) is not None


def outside_masks(text: str, spans: list[Span]) -> list[Span]:
    """Take placeholders out of spans: what is redacted already stays as it is."""
    if "[REDACTED:" not in text:
        return spans
    masks = [match.span() for match in PLACEHOLDER.finditer(text)]
    return [span for span in spans if not any(start < span.end and span.start < end for start, end in masks)]

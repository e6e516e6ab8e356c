"""
What of a serialised record is worth opening: a look at its bytes that says so, before any of its strings is.

Nearly all records hold nothing, and to parse and walk them all would cost more than everything else together. The look may say
yes too often, never no where there is something: `Engine.find` finds nothing in the strings of a record of which no was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from satchel.redaction.crowds import CROWD, OFTEN, Crowd
from satchel.redaction.names import SPACED, VERBS, judged
from satchel.redaction.rules import Rule

__all__ = ["Opener", "naming", "opener"]

Opener = Callable[[bytes, Sequence[int]], Iterable[int]]
"""Takes serialised text and where a literal stands in it, and says at which of these places it may be part of a finding."""

# A token may go on behind an escape, a code or a line's end, where its pattern cannot follow.
_GOES_ON = re.compile(
    rb"[A-Za-z0-9_\-+/=.~:@]{0,64}(?:\\{1,16}(?:u[0-9a-fA-F]{4}|b|x[0-9a-fA-F]{2}|/|[01][0-7]{2}|e\[|u\{)|%[0-9A-Fa-f]{2}|&[#a-zA-Z]|[\x80-\xff])"
    rb"|[A-Za-z0-9_\-+/=.~:@]{0,128}[\"'`+ \t\\.&|=\x80-\xff]{0,12}(?:\\[rn]|[\r\n])"
)
_NEAR = 64, 512
# A control sequence, as it is, as source code has it, and as JSON spells it.
_CODE = re.compile(rb"(?:\x1b|\^\[|\\{1,16}(?:u001[bB]|x1[bB]|033|e))\[[0-9;:?]{0,32}[A-Za-z]")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def opener(literal: str, rules: Iterable[Rule]) -> Opener:
    """Return what looks at where a literal stands; for a rule whose form JSON may spell otherwise the literal is enough."""
    size = len(literal)
    rules = list(rules)
    known: list[_Test] | None = None
    gates: list[re.Pattern[bytes] | None] = []
    sure = lefts = False

    def look(raw: bytes, starts: Sequence[int]) -> Iterable[int]:
        nonlocal known, gates, sure, lefts
        if known is None:
            # Made when the literal is first met: most are not, in most runs.
            tests = [_test(rule) for rule in rules]
            known = [test for test in tests if test is not None]
            gates = [rule.gate for rule, test in zip(rules, tests, strict=True) if test is None]
            sure = None in gates
            lefts = any(left is not None for _, left, _ in known)
        if sure:
            return starts
        if len(starts) > CROWD:
            return starts if any(is_worth(raw, at, known) for at in _distinct(raw, starts)) else ()
        return [at for at in starts if is_worth(raw, at, known)]

    def is_worth(raw: bytes, at: int, known: list[_Test]) -> bool:
        if (gates or lefts) and b"[" in (around := raw[max(0, at - 128) : at + _NEAR[1]]) and _CODE.search(around) is not None:
            # What stands around it is looked at without colours.
            head = _CODE.sub(b"", raw[max(0, at - 256) : at])
            raw, at = head + _CODE.sub(b"", raw[at : at + 4096]), len(head)
        for gate in gates:
            if gate is not None and gate.search(raw, max(0, at - _NEAR[0]), at + _NEAR[1]):
                return True
        for edge, left, match in known:
            begin = at
            if left is not None:
                before = left(raw, max(0, at - 128), at)
                if before is None:
                    continue
                begin = before.start()
            if edge and begin and raw[begin - 1] in _WORD and not _after_escape(raw, begin):
                continue
            if match(raw, begin) is not None or _GOES_ON.match(raw, at + size) is not None:
                return True
        return False

    return look


def _distinct(raw: bytes, starts: Sequence[int]) -> list[int]:
    """Return of places with the same around them the first few."""
    crowd = Crowd(raw, left=16, right=80, enough=OFTEN)
    out: list[int] = []
    past = -1
    for at in starts:
        if at >= past and (past := crowd.past(at)) < 0:
            crowd.nothing()
            out.append(at)
    return out


def _after_escape(raw: bytes, at: int) -> bool:
    """Return whether what stands before a place may be an escape or a code and no word."""
    return b"\\" in raw[max(0, at - 6) : at] or b"%" in raw[max(0, at - 7) : at] or b"[" in raw[max(0, at - 20) : at]


_Test = tuple[bool, Callable[..., re.Match[bytes] | None] | None, Callable[..., re.Match[bytes] | None]]


def _test(rule: Rule) -> _Test | None:
    """Return a rule's edge, left and pattern for bytes, or None where JSON may spell what they match otherwise."""
    patterns = [rule.pattern] if rule.left is None else [rule.pattern, rule.left]
    if rule.search or not all(_is_plain(pattern) for pattern in patterns):
        return None
    flags = re.IGNORECASE if rule.fold else 0
    left = re.compile(rule.left.pattern.encode(), flags).search if rule.left is not None else None
    return rule.edge, left, re.compile(rule.pattern.pattern.encode(), flags).match


def _is_plain(pattern: re.Pattern[str]) -> bool:
    """Return whether all that a pattern asks for is spelled in JSON as it is: no quote, backslash, blank or control character."""
    from re import _parser  # type: ignore[attr-defined]

    source = pattern.pattern
    return source.isascii() and "\\u" not in source and _plain_tokens(_parser.parse(source, pattern.flags & re.IGNORECASE))


def _plain_tokens(tokens: Any) -> bool:
    for kind, value in tokens:
        name = str(kind)
        if name == "LITERAL":
            if value < 32 or value in (34, 92):
                return False
        elif name == "IN":
            if str(value[0][0]) != "NEGATE" and not _plain_set(value):
                return False
        elif name in ("NOT_LITERAL", "ANY", "AT", "GROUPREF", "ASSERT_NOT"):
            continue
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            # What may be left out is asked of nothing.
            if value[0] and not _plain_tokens(value[2]):
                return False
        elif name == "SUBPATTERN":
            if not _plain_tokens(value[-1]):
                return False
        elif name in ("ASSERT", "ATOMIC_GROUP"):
            if not _plain_tokens(value[1] if name == "ASSERT" else value):
                return False
        elif name == "BRANCH":
            if not all(_plain_tokens(branch) for branch in value[1]):
                return False
        else:
            return False
    return True


def _plain_set(items: Any) -> bool:
    """Return whether a set has characters that are spelled as they are; those of it that are not must be too few to matter."""
    for kind, value in items:
        name = str(kind)
        if name == "CATEGORY" and str(value).endswith("_SPACE"):
            return False
        if name == "LITERAL" and (value < 32 or value in (34, 92)):
            return False
    return True


_WORD_REST = re.compile(rb"[A-Za-z0-9_.\-$]{0,64}")
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"
# After a name, in serialised text: a sign (behind quotes and brackets, escaped or not) and something like a value …
_SIGN = re.compile(
    rb"(?:\\*[\"'`*_\])/]|\\+(?:u00|x)(?:2[27]|60)|\\+04[27]|[ \t]|\\{1,16}[rnt][ \t]*(?=\\*[\"'{])){0,24}"
    rb"(?:\\*[:=>|?<{%&\[-]|,\s{0,4}(?:\w{1,24}\s?=|\\*[\"'`b])|\(\s{0,8}[bru@$]{0,2}\\*[\"'`]"
    rb"|\\+u00(?:22|27|3[acde])|\\+u[2-9f]|[\xe2-\xef]|[ ]?(?:[\xc2\xc3]|\\+u00[aef])|or\b"
    rb"|(?:\s|\\{1,16}[nrt]|,){0,64}\\*[\"'`]?(?:parameter)?(?:value|content)\b)"
    rb"(?=[\s\S]{0,120}?[^\s\\\"'`,;(){}\[\]]{4})"
)
_LONG = re.compile(rb"[^\n]{0,24}?(?=[^\s\\\"'`,;(){}]{0,40}\d)[^\s\\\"'`,;(){}]{16}")
# … or a blank and then a quoted value, or a number somewhere in what follows: passwords and keys in prose have one.
_BLANK = re.compile(rb"(?:\\*[\"'`*_]){0,3}[,;:]?[ \t]{1,4}(?:\\*[\"'`]|(?:[^\n\\]|\\{1,16}[\"']){0,120}?\d)")
# … or the end of a line that is the head of a table, with a number in the lines below.
_HEAD = re.compile(
    rb"(?:\\*[\"'])?[ \t]*(?:[,;|\t]|\\{1,16}t)[^\d]{0,512}?(?:\n|\\n)[^\d]{0,512}\d"
    rb"|(?:\\*[\"'])?[ \t]*(?:\\*r)?(?:\n|\\{1,16}n)[^\d]{0,512}\d|(?:\t|\\{1,16}t)[^\n\\]{0,64}\d"
)
# … or more than a blank, and then a long value.
_DIGIT_NEAR = re.compile(rb"[\s\S]{0,160}\d")
_PAIR = re.compile(rb"(?:name|key|header|field|variable|parameter)\\*[\"']\s{0,8}:\s{0,8}\\*[\"']\Z")
_APART = re.compile(
    rb"(?:\\*[\"'`*_\])}]){0,3}(?:[ \t\n\r,|]|\\{1,16}[tnr]|\xe2\x94.|\\+u25..){1,64}[^\s\\]{16}"
    rb"|[^\n]{0,400}\)\s{0,16}[vV][aA][lL][uU][eE][sS]"
)
_BEFORE = re.compile(rb"(?i)\d[^\n\\]{0,120} (?:as|is|for|a|<-|\xe2\x86\x90|\\+u2190) [^\n\\]{0,40}\Z")


_PIPED = re.compile(rb"(?:echo|print)[^|]{8,600}\|[^|]{0,240}\Z")


def _is_second_word(folded: bytes, begin: int) -> bool:
    words = folded[max(0, begin - 24) : begin].replace(b"\\n", b" ").split()
    return bool(words) and words[-1].lstrip(b"*_`\"'(\\").decode("utf-8", "replace").lower() in SPACED


def naming(raw: bytes, starts: Sequence[int]) -> Iterator[int]:
    """Yield where the words, in small letters or capitals, are part of a name after which a value may come; each name once."""
    past = -1
    crowd = Crowd(raw, left=24, right=160) if len(starts) > CROWD else None
    for at in starts:
        if at < past:
            continue
        if crowd is not None:
            if (known := crowd.past(at)) >= 0:
                past = known
                continue
            if size := crowd.something():
                past = at + size
                yield at
                continue
        rest = _WORD_REST.match(raw, at)
        past = rest.end() if rest else at
        head = raw[max(0, at - 64) : at]
        begin = at - (len(head) - len(head.rstrip(_NAME_BYTES)))
        identifier = raw[begin:past].rstrip(b".-$").decode("ascii")
        past = begin + len(identifier)
        if _names(raw, at, begin, past, identifier):
            if crowd is not None:
                crowd.found(past - at)
            yield at
        elif crowd is not None:
            crowd.nothing()


def _names(raw: bytes, at: int, begin: int, past: int, identifier: str) -> bool:
    """Return whether a value may come after a name; `identifier` is that from `begin` to `past`, with the word at `at` in it."""
    if not identifier or raw[at] > 127 or raw[at] == 92 or identifier[-1:] == " ":
        # A word of another writing.
        return _DIGIT_NEAR.match(raw, at) is not None
    name = judged(identifier)
    if (name is None or name.klass == "weak") and raw[begin - 1 : begin] == b"\\" and identifier[0] in "nrt":
        # What is before it is the end of an escape.
        begin, identifier = begin + 1, identifier[1:]
        name = judged(identifier)
    if name is None:
        return raw[at : at + 3].lower() == b"mot"
    if b"[" in raw[past : past + 64] and _CODE.search(raw, past, past + 64) is not None:
        # Colours that end with a name, and begin with its value.
        before = raw[max(0, begin - 700) : past]
        raw, begin, past = before + _CODE.sub(b"", raw[past : past + 4096]), len(before) - past + begin, len(before)
    sign = _SIGN.match(raw, past)
    if sign is not None:
        return name.klass != "weak" or _LONG.match(raw, sign.end()) is not None
    if (name.klass == "weak" and identifier not in VERBS) or (identifier in VERBS and not _is_second_word(raw, begin)):
        return False
    return (
        _PAIR.search(raw, max(0, begin - 32), begin) is not None
        or _BLANK.match(raw, past) is not None
        or _HEAD.match(raw, past) is not None
        or _APART.match(raw, past) is not None
        or _BEFORE.search(raw, max(0, begin - 170), begin) is not None
        or (b"|" in raw[max(0, begin - 160) : begin] and _PIPED.search(raw, max(0, begin - 700), begin) is not None)
    )

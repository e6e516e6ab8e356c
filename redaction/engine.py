"""
Finds secrets in a text: literals first, all at once; at each hit the rules that have that literal; then their checks.

The engine knows nothing of sessions. `find` takes a text as a person reads it (one string of a record, a file's line); what is
hidden behind escapes, colours or an encoding is found through the views of `satchel.redaction.views`. `may_hold` looks at a whole
record as it is serialised, and says whether any of its strings has to be looked at: most have not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from satchel.redaction import named
from satchel.redaction.literals import Hits, finder
from satchel.redaction.rules import Rule, RuleSet
from satchel.redaction.spans import STRONG, Span, merged
from satchel.redaction.views import View, hides, views
from satchel.redaction.wraps import joined

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
                at = numbers.setdefault(literal.lower(), len(numbers))
                if at == len(self._by_literal):
                    self._by_literal.append([])
                if rule not in self._by_literal[at]:
                    self._by_literal[at].append(rule)
        for word in named.WORDS:
            if numbers.setdefault(word, len(numbers)) == len(self._by_literal):
                self._by_literal.append([])
        self._words = frozenset(numbers[word] for word in named.WORDS)
        literals = list(numbers)
        self._scan = finder(literals, native=native)
        self._scan_bytes = finder([literal.encode() for literal in literals], native=native)
        self._sure = [[rule for rule in rules if rule.strength == STRONG and rule.solid] for rules in self._by_literal]
        sure = [number for number, rules in enumerate(self._sure) if rules]
        self._sure_numbers = sure
        self._scan_sure = finder([literals[number].encode() for number in sure], native=native)
        # What a serialised record has to hold behind a literal, so that it is worth to be opened: nothing of a rule's own
        # pattern, since escapes may stand in it.
        self._openers = [_opener(literal, rules) for literal, rules in zip(literals, self._by_literal, strict=True)]

    # ------------------------------------------------------------------------------------------------- a text

    def find(self, text: str, *, hidden: bool = True) -> list[Span]:
        """
        Return what of a text is secret, in order, without overlaps.

        Args:
            hidden: Whether a literal may be written otherwise than it is read; False is known from `opens` saying 1.
        """
        if len(text) <= _WINDOW:
            return self._find(text, hidden)
        spans: list[Span] = []
        for at in range(0, len(text), _WINDOW - _OVERLAP):
            spans.extend(Span(s.start + at, s.end + at, s.rule, s.strength) for s in self._find(text[at : at + _WINDOW], hidden))
        return merged(spans)

    def _find(self, text: str, hidden: bool) -> list[Span]:
        hits = self._scan(_folded(text))
        spans: list[Span] = []
        again: list[int] = []
        if hits:
            spans = self._matches(text, hits, again)
            self._read_broken(text, spans, again)
        if hidden and hides(text):
            self._read_otherwise(text, 0, len(text), spans, hot=bool(hits))
        else:
            for start, end in _windows(again, len(text)):
                self._read_otherwise(text, start, end, spans, hot=True)
        return merged(_outside_masks(text, spans)) if spans else spans

    def _read_otherwise(self, text: str, start: int, end: int, spans: list[Span], *, hot: bool) -> None:
        """Add what is found in other readings of a part of a text."""
        for view in views(text[start:end], hot=hot):
            hits = self._scan(_folded(view.text))
            if not hits:
                continue
            found = self._matches(view.text, hits, again := [])
            for span in found:
                spans.append(Span(start + view.start(span.start), start + view.end(span.end), span.rule, span.strength))
            inner: list[Span] = []
            self._read_broken(view, inner, again, found)
            spans.extend(Span(start + span.start, start + span.end, span.rule, span.strength) for span in inner)

    def _read_broken(self, text: str | View, spans: list[Span], again: list[int], found: Sequence[Span] | None = None) -> None:
        """Add what is found where lines are put together that were one: at findings and hits that end with a line."""
        plain = text if isinstance(text, str) else text.text
        if "\n" not in plain:
            return
        places = [span.start for span in (spans if found is None else found) if _BREAK.match(plain, span.end)]
        places += [at for at in again if _BROKEN_RUN.match(plain, at)]
        past = -1
        for at in sorted(places):
            if at < past:
                continue
            view = joined(text, at)
            if view is None:
                continue
            past = at + 1
            hits = self._scan(_folded(view.text))
            for span in self._matches(view.text, hits, []):
                spans.append(Span(view.start(span.start), view.end(span.end), span.rule, span.strength))

    def _matches(self, text: str, hits: Hits, again: list[int]) -> list[Span]:
        """Return what is found at the hits; where another reading of the text may show more is added to `again`."""
        spans: list[Span] = []
        words = [at for number in self._words & hits.keys() for at in hits[number]]
        if words:
            words.sort()
            spans.extend(named.values(text, words, again))
        for number, starts in hits.items():
            for rule in self._by_literal[number]:
                spans.extend(_rule_matches(rule, text, starts, again))
        return spans

    def named_value(self, names: Sequence[str], value: str | int) -> Span | None:
        """Judge a value of parsed JSON by the keys it stands under, the outermost first; the span is within `str(value)`."""
        return named.named_value(names, value)

    # ------------------------------------------------------------------------------------------------- a record

    def may_hold(self, raw: bytes) -> bool:
        """
        Say whether a serialised record (JSON, or any text) may hold something that `find` would find in one of its strings.

        It is the gate before the work: False is said of most records, and only where it is sure.
        """
        return self.opens(raw) > 0

    def opens(self, raw: bytes) -> int:
        """Say what of a serialised record is worth looking at: 0 nothing, 1 its strings as they are, 2 other readings of them too."""
        if hides(raw.decode("utf-8", "replace"), serialised=True):
            return 2
        folded = raw.lower()
        for number, starts in self._scan_bytes(folded).items():
            if number in self._words:
                if _names_something(folded, starts):
                    return 1
            else:
                opener = self._openers[number]
                if opener is None or any(opener(raw, at) for at in starts):
                    return 1
        return 0


    # ------------------------------------------------------------------------------------------------- an output

    def leaks(self, data: bytes) -> Iterator[tuple[int, str]]:
        """
        Yield what strong rules find in output as it is written: where its literal stands (in bytes), and the rule's id.

        Only the plain reading is looked at, and rules that are known by what they begin with.
        """
        for index, starts in self._scan_sure(data.lower()).items():
            for rule in self._sure[self._sure_numbers[index]]:
                past = -1
                for at in starts:
                    if at < past:
                        continue
                    before = data[max(0, at - _LEFT) : at].decode("utf-8", "ignore")
                    text = before + data[at : at + _RIGHT].decode("utf-8", "ignore")
                    for span in _outside_masks(text, list(_rule_matches(rule, text, [len(before)], []))):
                        yield at, rule.id
                        past = at + max(1, span.end - len(before))


_LEFT, _RIGHT = 160, 4096


def _opener(literal: str, rules: list[Rule]) -> Callable[[bytes, int], object] | None:
    """Return what has to match where a literal stands in serialised text, or None where nothing has to."""
    if not all(rule.solid for rule in rules):
        return None
    alike = "|".join(sorted({re.escape(spelling) for rule in rules for spelling in rule.literals if spelling.lower() == literal}))
    return re.compile(rf"(?:{alike})[^\s\"]{{6}}".encode()).match if alike else None


_WORD_REST = re.compile(rb"[a-z0-9_.\-$]{0,64}")
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"
# After a name, in serialised text: a sign (behind quotes and brackets, escaped or not) and something like a value …
_SIGN = re.compile(rb"(?:\\*[\"'`*_\])/]|[ \t]|\\[rnt][ \t]*(?=\\*[\"'{])){0,24}(?:\\*[:=>|?<{%&\[-]|,\s{0,4}\\*[\"'`b]|\\u003)(?=[^\n]{0,120}?[^\s\\\"'`,;(){}\[\]]{4})")
_LONG = re.compile(rb"[^\n]{0,24}?(?=[^\s\\\"'`,;(){}]{0,40}\d)[^\s\\\"'`,;(){}]{16}")
# … or a blank and then a quoted value, or a number somewhere in what follows: passwords and keys in prose have one.
_BLANK = re.compile(rb"[ \t]{1,4}(?:\\*[\"'`]|[^\n\\]{0,120}?\d)|,?[ \t]|\\[nrt]")
_BEFORE = re.compile(rb"\d[^\n\\]{0,120} (?:as|is|for) [^\n\\]{0,40}\Z")


def _is_second_word(folded: bytes, begin: int) -> bool:
    words = folded[max(0, begin - 24) : begin].replace(b"\\n", b" ").split()
    return bool(words) and words[-1].lstrip(b"*_`\"'(\\").decode("utf-8", "replace") in named.SPACED


def _names_something(folded: bytes, starts: Sequence[int]) -> bool:
    """Return whether one of the words is part of a name after which a value may come."""
    past = -1
    for at in starts:
        if at < past:
            continue
        rest = _WORD_REST.match(folded, at)
        past = rest.end() if rest else at
        head = folded[max(0, at - 64) : at]
        begin = at - (len(head) - len(head.rstrip(_NAME_BYTES)))
        identifier = folded[begin:past].rstrip(b".-$").decode("ascii")
        past = begin + len(identifier)
        name = named.judged(identifier)
        if name is None:
            continue
        sign = _SIGN.match(folded, past)
        if sign is not None:
            if name.klass != "weak" or _LONG.match(folded, sign.end()) is not None:
                return True
        elif name.klass != "weak" or identifier in named.VERBS:
            if identifier in named.VERBS and not _is_second_word(folded, begin):
                continue
            blank = _BLANK.match(folded, past)
            if blank is not None and blank.end() > past + 2:
                return True
            if _BEFORE.search(folded, max(0, begin - 170), begin) is not None:
                return True
    return False


def _folded(text: str) -> str:
    """Return a text in small letters, character by character."""
    folded = text.lower()
    # One capital letter of all becomes two characters.
    return folded if len(folded) == len(text) else text.replace("\u0130", "i").lower()


_BEFORE_HIT, _AFTER_HIT = 384, 3072


def _windows(places: list[int], size: int) -> list[tuple[int, int]]:
    """Return the parts of a text around places, those that touch made one."""
    out: list[tuple[int, int]] = []
    for at in sorted(places):
        start, end = max(0, at - _BEFORE_HIT), min(size, at + _AFTER_HIT)
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _rule_matches(rule: Rule, text: str, starts: Sequence[int], again: list[int]) -> Iterator[Span]:
    if rule.search:
        for match in rule.pattern.finditer(text, max(0, starts[0] - 256)):
            yield from _span(rule, text, match, match.start())
        again.extend(at for at in starts[:_MANY] if named.DISGUISE.search(text, at, at + 256))
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
            if named.DISGUISE.match(text, past):
                again.append(start)
        else:
            failed += 1
            if named.DISGUISE.search(text, start, start + 64) or _BROKEN_RUN.match(text, start):
                again.append(start)
            if failed >= _TRIES:
                # A literal that stands again and again in its own run: what failed so often fails in the rest of it too.
                run = _RUN.match(text, start)
                past, failed = (run.end() if run else start), 0
                if match is not None:
                    past = max(past, match.end())


_MANY = 1024
# What stands at the end of a line that goes on in the next one; and a token that reaches so far.
_BREAK = re.compile(r"[\"'`]?[ \t]*(?:\+|\.{1,2}|&|\|\||[│┃║|=])?[ \t]*\\?\r?\n")
_BROKEN_RUN = re.compile(r"[A-Za-z0-9_\-+/=.]{2,512}[\"'`]?[ \t]*[│┃║|=\\+]?\r?\n")


def _span(rule: Rule, text: str, match: re.Match[str], begin: int) -> Iterable[Span]:
    if rule.edge and begin > 0 and _is_word(text[begin - 1]) and not _after_escape(text, begin):
        return
    for start, end in rule.parts(match):
        if 0 <= start < end:
            value = text[start:end]
            if all(test(value) for test in rule.checks):
                yield Span(start, end, rule.id, rule.strength)


def _is_word(char: str) -> bool:
    return char == "_" or char.isalnum()


_ESCAPED = re.compile(r"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,16}m)\Z")


def _after_escape(text: str, at: int) -> bool:
    """Return whether the character before belongs to an escape that ends there: `\\n`, `%3D`, a colour code."""
    return _ESCAPED.search(text, max(0, at - 20), at) is not None


def _outside_masks(text: str, spans: list[Span]) -> list[Span]:
    """Take placeholders out of spans: what is redacted already stays as it is."""
    if "[REDACTED:" not in text:
        return spans
    masks = [match.span() for match in MASK.finditer(text)]
    return [span for span in spans if not any(start < span.end and span.start < end for start, end in masks)]

"""
Finds secrets in a text: literals first, all at once; at each hit the rules that have that literal; then their checks.

The engine knows nothing of sessions. `find` takes a text as a person reads it (one string of a record, a file's line); what is
hidden behind escapes, colours or an encoding is found through the views of `satchel.redaction.views`. `may_hold` looks at a whole
record as it is serialised, and says whether any of its strings has to be looked at: most have not.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from satchel.redaction import named
from satchel.redaction.codes import PRINTABLE
from satchel.redaction.crowds import CROWD, OFTEN, Crowd
from satchel.redaction.encodings import RUN_SIGNS, decoded, encoded_literals, run_around, texts_in_base64
from satchel.redaction.hiding import STRIDE, around, concealing, disguised, hides, hides_in_codes
from satchel.redaction.literals import Hits, finder
from satchel.redaction.matching import BROKEN_RUN, crowded, ends_line, outside_masks, rule_matches, with_adjoining
from satchel.redaction.names import KINDS, WORDS
from satchel.redaction.opening import naming, opener
from satchel.redaction.rules import Rule, RuleSet
from satchel.redaction.spans import STRONG, Span, merged
from satchel.redaction.views import View, sliced, views
from satchel.redaction.wraps import joined

__all__ = ["Engine"]

_NAMED_KINDS = frozenset(KINDS)
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
        for word in WORDS:
            if numbers.setdefault(word, len(numbers)) == len(self._by_literal):
                self._by_literal.append([])
        self._words = frozenset(numbers[word] for word in WORDS)
        # The surest rules: what an output is searched for.
        self._sure = [[rule for rule in rules if rule.strength == STRONG and rule.solid] for rules in self._by_literal]
        # What their tokens begin with, as it stands in base64 and hex.
        self._coded: dict[int, list[tuple[str, str, int]]] = {}
        plain = (literal for rules in self._sure for rule in rules for literal in rule.literals)
        for form, (encoding, alignment) in encoded_literals(dict.fromkeys(plain)).items():
            at = numbers.setdefault(form.lower(), len(numbers))
            if at == len(self._by_literal):
                self._by_literal.append([])
            self._coded.setdefault(at, []).append((form, encoding, alignment))
        literals = list(numbers)
        self._scan = finder([literal.encode() for literal in literals], native=native)
        self._openers = [opener(literal, rules) for literal, rules in zip(literals, self._by_literal, strict=True)]
        self._sure_numbers = [number for number, rules in enumerate(self._sure) if rules]
        self._scan_sure = finder([literals[number].encode() for number in self._sure_numbers], native=native)
        # For texts whose base64 is broken over lines.
        self._coded_numbers = list(self._coded)
        self._scan_coded = finder([literals[number].encode() for number in self._coded_numbers], native=native)

    # ------------------------------------------------------------------------------------------------- a text

    def find(self, text: str, *, hidden: bool = True, hits: Hits | None = None) -> list[Span]:
        """
        Return what of a text is secret, in order, without overlaps.

        Args:
            hidden: Whether a literal may be written otherwise than it is read; False is known from `opens` saying 1.
            hits: Where something may be, as `look` says.
        """
        if len(text) <= _WINDOW:
            return self._find(text, hidden, hits)
        spans: list[Span] = []
        for at in range(0, len(text), _WINDOW - _OVERLAP):
            spans.extend(Span(s.start + at, s.end + at, s.rule, s.strength) for s in self._find(text[at : at + _WINDOW], hidden))
        return merged(spans, common=_NAMED_KINDS)

    def _find(self, text: str, hidden: bool, hits: Hits | None = None) -> list[Span]:
        again: list[int] = []
        spans = self._look(text, again) if hits is None else self._matches(text, hits, again)
        if spans or again:
            self._read_broken(text, spans, again)
        if hidden:
            again += disguised(text)
        for start, end in around(again, len(text), before=_BEFORE_HIT, after=_AFTER_HIT + STRIDE):
            self._read_otherwise(text, start, end, spans)
        return merged(outside_masks(text, with_adjoining(text, spans)), common=_NAMED_KINDS) if spans else spans

    def _read_otherwise(self, text: str, start: int, end: int, spans: list[Span]) -> None:
        """Add what is found in other readings of a part of a text."""
        for view in views(text[start:end], hot=True):
            again: list[int] = []
            found = self._look(view.text, again)
            for span in found:
                spans.append(Span(start + view.start(span.start), start + view.end(span.end), span.rule, span.strength))
            if found or again:
                inner: list[Span] = []
                self._read_broken(view, inner, again, found)
                spans.extend(Span(start + span.start, start + span.end, span.rule, span.strength) for span in inner)

    def _read_broken(self, text: str | View, spans: list[Span], again: list[int], found: Sequence[Span] | None = None) -> None:
        """Add what is found where lines are put together that were one: at findings and hits that end with a line."""
        plain = text if isinstance(text, str) else text.text
        if "\n" not in plain:
            return
        found = list(spans if found is None else found)
        begins = sorted(span.start for span in found)
        places = [span.start for span in found if ends_line(plain, span, begins)]
        places += [at for at in again if BROKEN_RUN.match(plain, at) or named.CUT_OFF.match(plain, at)]
        if not isinstance(text, str):
            begins = [text.start(at) for at in begins]
        past = -1
        for at in sorted(places):
            if at < past:
                continue
            view = joined(text, at)
            if view is None:
                continue
            # All that is in these lines is looked at with this one.
            past = at + len(view.text)
            wholes = [view]
            if _begins_line(plain, at):
                # A line of words may stand above it, and be none of it.
                alone = joined(text, at, back=False)
                if alone is not None and len(alone.text) < len(view.text):
                    wholes.append(alone)
            for whole in wholes:
                for span in self._look(whole.text, []):
                    start, end = whole.start(span.start), whole.end(span.end)
                    # Two findings, one behind the other, are no broken one.
                    if bisect_right(begins, start) == bisect_left(begins, end):
                        spans.append(Span(start, end, span.rule, span.strength))

    def _look(self, text: str, again: list[int]) -> list[Span]:
        """Return what is found in a text as it is read; where another reading of it may show more is added to `again`."""
        folded = _folded(text)
        data = folded.encode("utf-8", "surrogatepass")
        hits = self._scan(data)
        spans: list[Span] = []
        if hits:
            here = _in_characters(hits, data, folded)
            spans = self._matches(text, here, again)
            if not self._coded.keys().isdisjoint(here) and _RUN in data.translate(RUN_SIGNS):
                for number in self._coded.keys() & here.keys():
                    self._decode(text, self._coded[number], here[number], spans)
        if len(text) >= _RUN_LENGTH:
            self._look_into_base64(text, spans)
        if "\n" in text and _FULL_LINE in data.translate(RUN_SIGNS):
            lines = _without_breaks(text)
            if lines is not None:
                self._decode_lines(lines, spans)
        return spans

    def _look_into_base64(self, text: str, spans: list[Span]) -> None:
        """Add runs of base64 that say a text in which something is."""
        # One byte for each character.
        coded = list(texts_in_base64(text.encode("ascii", "replace")))
        for index, (depth, _) in self.look([said for _, _, said in coded]).items() if coded else ():
            start, end, said = coded[index]
            if any(span.start < end and start < span.end for span in spans):
                continue
            found = self._find(said, depth > 1)
            if found:
                padding = len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
                spans.append(Span(start, end + padding, found[0].rule, max(span.strength for span in found)))

    def _decode_lines(self, lines: View, spans: list[Span]) -> None:
        """Add runs whose tokens begin where a line of base64 ends."""
        folded = _folded(lines.text)
        data = folded.encode("utf-8", "surrogatepass")
        found: list[Span] = []
        for index, starts in _in_characters(self._scan_coded(data), data, folded).items():
            self._decode(lines.text, self._coded[self._coded_numbers[index]], starts, found)
        spans.extend(Span(lines.start(span.start), lines.end(span.end), span.rule, span.strength) for span in found)

    def _matches(self, text: str, hits: Hits, again: list[int]) -> list[Span]:
        """Return what is found at the hits; where another reading of the text may show more is added to `again`."""
        spans: list[Span] = []
        words = [at for number in self._words & hits.keys() for at in hits[number]]
        if words:
            words.sort()
            spans.extend(named.values(text, words, again))
        for number, starts in hits.items():
            rules = self._by_literal[number]
            if len(starts) > CROWD:
                spans.extend(crowded(rules, text, starts, again))
            else:
                for rule in rules:
                    spans.extend(rule_matches(rule, text, starts, again))
        return spans

    def _decode(self, text: str, forms: list[tuple[str, str, int]], starts: Sequence[int], spans: list[Span]) -> None:
        """Add runs of base64 and hex in which a token stands: all of a run goes, since it is of no use without a part."""
        past = -1
        for at in starts:
            if at < past:
                continue
            for form, encoding, alignment in forms:
                if not text.startswith(form, at):
                    continue
                start, end = run_around(text, at, at + len(form), encoding, alignment)
                view = decoded(text, start, end, encoding, hit=at, alignment=alignment)
                found = [] if view is None else self._tokens(view.text)
                if found:
                    spans.append(Span(start, end, found[0].rule, STRONG))
                # What is no secret in the first of many hits in one run is none in the others of it.
                past = end
                break

    def _tokens(self, text: str) -> list[Span]:
        """Return what the surest rules find in a text, in its plain reading only."""
        folded = _folded(text)
        data = folded.encode("utf-8", "surrogatepass")
        spans: list[Span] = []
        for index, starts in _in_characters(self._scan_sure(data), data, folded).items():
            for rule in self._sure[self._sure_numbers[index]]:
                spans.extend(rule_matches(rule, text, starts, []))
        return merged(outside_masks(text, spans))

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
        """Say what of a serialised record is to be looked at: 0 nothing, 1 its strings as they are, 2 other readings too."""
        text = raw.decode("utf-8", "replace")
        # What is no JSON stands as it is, with its control characters.
        if hides(text, serialised=True) or ((raw.translate(None, PRINTABLE) or b"\r" in raw) and hides_in_codes(text)):
            return 2
        folded = raw.lower()
        hits = self._scan(folded)
        for number, starts in hits.items():
            for _ in self._worth(number, raw, starts):
                return 1
        if any(True for _ in self._coded_places(raw, hits)) or self._is_coded_in_lines(raw, folded.translate(RUN_SIGNS)):
            return 1
        said = [text for _, _, text in texts_in_base64(raw)]
        return int(bool(said) and bool(self.look(said)))

    def look(self, texts: Sequence[str]) -> dict[int, tuple[int, Hits | None]]:
        """
        Say of texts what `opens` says of what is serialised, and where in them something may be; by number, those it may be in.

        What is found in one, or in a string of the JSON that it is, stands at one of these places: for nothing else has `find` to
        look. They are None where that cannot be told.
        """
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        joined = b"\n".join(encoded)
        ends = list(accumulate(len(data) + 1 for data in encoded))
        out: dict[int, tuple[int, Hits | None]] = dict.fromkeys(concealing(texts, encoded, joined, ends), (2, None))
        folded = joined.lower()
        hits = self._scan(folded)
        for at in self._coded_places(joined, hits):
            out.setdefault(bisect_right(ends, at), (1, None))
        runs = folded.translate(RUN_SIGNS)
        at = runs.find(_FULL_LINE)
        while at >= 0:
            number = bisect_right(ends, at)
            begin, end = ends[number] - len(encoded[number]) - 1, ends[number]
            if number not in out and self._is_coded_in_lines(encoded[number], runs[begin:end]):
                out[number] = 1, None
            at = runs.find(_FULL_LINE, end)
        coded = [(number, said) for at, _, said in texts_in_base64(joined) if (number := bisect_right(ends, at)) not in out]
        if coded:
            out |= dict.fromkeys((coded[index][0] for index in self.look([said for _, said in coded])), (1, None))
        worth: dict[int, Hits] = {}
        for literal, starts in hits.items():
            for at in self._worth(literal, joined, starts):
                number = bisect_right(ends, at)
                begin = ends[number] - len(encoded[number]) - 1
                worth.setdefault(number, {}).setdefault(literal, []).append(at - begin)
        for number, places in worth.items():
            if number not in out:
                text = texts[number]
                out[number] = 1, _in_characters(places, encoded[number], text) if len(text) <= _WINDOW else None
        return out

    def _worth(self, number: int, raw: bytes, starts: Sequence[int]) -> Iterable[int]:
        return naming(raw, starts) if number in self._words else self._openers[number](raw, starts)

    def _coded_places(self, raw: bytes, hits: Hits) -> Iterator[int]:
        """Yield where what tokens begin with stands in base64 or hex."""
        coded = self._coded
        for number in () if coded.keys().isdisjoint(hits) else coded.keys() & hits.keys():
            for form, _, _ in coded[number]:
                literal = form.encode()
                yield from (at for at in hits[number] if raw.startswith(literal, at))

    def _is_coded_in_lines(self, raw: bytes, runs: bytes) -> bool:
        """Return whether what tokens begin with stands in base64 at the end of a line of it, and in the next one."""
        parts: list[bytes] = []
        at = begin = 0
        while (at := runs.find(_FULL_LINE, at)) >= 0 and (end := runs.find(b" ", at)) >= 0:
            match = _BREAK_IN_BYTES.match(raw, end)
            if match is not None:
                parts.append(raw[begin:end])
                begin = match.end()
            at = match.end() if match is not None else end
        if not parts:
            return False
        whole = b"".join([*parts, raw[begin:]])
        hits = self._scan_coded(whole.lower())
        return any(True for _ in self._coded_places(whole, {self._coded_numbers[index]: hits[index] for index in hits}))

    # ------------------------------------------------------------------------------------------------- an output

    def leaks(self, data: bytes) -> Iterator[tuple[int, str]]:
        """
        Yield what strong rules find in output as it is written: where its literal stands (in bytes), and the rule's id.

        Only the plain reading is looked at, and rules that are known by what they begin with.
        """
        for index, starts in self._scan_sure(data.lower()).items():
            number = self._sure_numbers[index]
            # In bytes first: nearly all hits are none.
            worth = list(self._openers[number](data, starts))
            crowd = Crowd(data, left=16, right=80, enough=OFTEN) if len(worth) > CROWD else None
            past = -1
            for at in worth:
                if at < past:
                    continue
                if crowd is not None and (known := crowd.past(at)) >= 0:
                    past = known
                    continue
                before = data[max(0, at - _LEFT) : at].decode("utf-8", "ignore")
                text = before + data[at : at + _RIGHT].decode("utf-8", "ignore")
                spans = [
                    (span, rule.id)
                    for rule in self._sure[number]
                    for span in outside_masks(text, list(rule_matches(rule, text, [len(before)], [])))
                ]
                for span, rule in spans:
                    yield at, rule
                    past = max(past, at + max(1, span.end - len(before)))
                if crowd is not None and not spans:
                    crowd.nothing()


_LEFT, _RIGHT = 160, 4096
_LONGEST_GUTTER = 32


_RUN_LENGTH = 16
_RUN = b"a" * _RUN_LENGTH
_FULL_LINE = b"a" * 60


# Where base64 goes on in the next line; in bytes also as JSON spells it, however deep.
_BASE64_LINE = r"[A-Za-z0-9+/_\-]{60}"
_BREAKS = re.compile(rf"(?:\r\n(?<={_BASE64_LINE}\r\n)|\n(?<={_BASE64_LINE}\n))[ \t]{{0,40}}(?=[A-Za-z0-9+/_\-=])")
_BREAK_IN_BYTES = re.compile(rb"(?:\r?\n|\\{1,16}(?:r\\{1,16})?n)(?:[ \t]|\\{1,16}t){0,40}(?=[A-Za-z0-9+/_\-=])")


def _begins_line(text: str, at: int) -> bool:
    """Return whether nothing but signs and blanks stands before a place on its line."""
    head = text[max(0, at - _LONGEST_GUTTER) : at]
    return not any(char.isalnum() for char in head[head.rfind("\n") + 1 :])


def _without_breaks(text: str) -> View | None:
    """Return a text with the line ends within base64 taken out, None where there are none."""
    if "\n" not in text:
        return None
    kept: list[tuple[int, int]] = []
    at = 0
    for match in _BREAKS.finditer(text):
        kept.append((at, match.start()))
        at = match.end()
    return sliced(text, [*kept, (at, len(text))]) if kept else None


def _in_characters(hits: Hits, data: bytes, text: str) -> Hits:
    """Return hits in a text's UTF-8 as hits in the text."""
    if not hits or len(data) == len(text):
        return hits
    places: dict[int, int] = {}
    at = count = 0
    for place in sorted({start for starts in hits.values() for start in starts}):
        count += len(data[at:place].decode("utf-8", "surrogatepass"))
        places[place] = count
        at = place
    return {number: [places[start] for start in starts] for number, starts in hits.items()}


def _folded(text: str) -> str:
    """Return a text in small letters, character by character."""
    folded = text.lower()
    # One capital letter of all becomes two characters.
    return folded if len(folded) == len(text) else text.replace("\u0130", "i").lower()


_BEFORE_HIT, _AFTER_HIT = 384, 3072

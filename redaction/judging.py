"""
What has to go from a string, and what is known of strings that were judged before: while a family is learned, and after.

What a look at a record told of its strings, and what was found in them, is kept by their hashes, so that none is searched twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from satchel.redaction.literals import Hits
from satchel.redaction.looking import Look
from satchel.redaction.nested import FULL, NAMED, NUMBER, STRONG_ONLY, Spot
from satchel.redaction.placeholders import spelled
from satchel.redaction.registry import Hit, Registry
from satchel.redaction.roles import Finder, Policy
from satchel.redaction.spans import STRONG, Span
from satchel.redaction.streams import Cut
from satchel.redaction.tags import TagKey

__all__ = ["Judging"]

_MOST_KEPT = 1 << 16
_SHORTEST = 10
"""No string that is shorter is a name with its value, or a token."""
_BEFORE_JSON = frozenset("{[ \t\r\n\ufeff\0")


class Judging:
    """
    Judges strings; whoever goes through records says what is known of the one at hand.

    Args:
        least: Shorter strings are not searched.
        wider: More than the rules is looked for: strings are judged in any case.
    """

    def __init__(
        self, engine: Finder, look: Look, registry: Registry, *, policy: Policy | None, tags: TagKey, least: int, wider: bool
    ) -> None:
        self._engine = engine
        self._look = look
        self._registry = registry
        self._policy = policy
        self._tags = tags
        self._least = least
        self._wider = wider
        self.learning = False
        """The record is learned, and not applied."""
        self.learned = False
        """Something of this family was learned."""
        self.direct = self.hidden = True
        """Rules may find something in the record; something in it may be disguised."""
        self.aside = False
        """The text is none of a record's."""
        self.cuts: Sequence[Cut] = ()
        """The parts of secrets that are in the record."""
        self.looked: dict[int, Hits] = {}
        """Where in the strings of the record that is learned something may be, by their hashes."""
        self.spans: dict[int, list[Span]] | None = {}
        """What was found in strings while learning, by their hashes; None when that are too many to keep."""

    def __repr__(self) -> str:
        return "Judging()"

    def begin(self) -> None:
        """Start a new family: forget what is known of strings."""
        self.learned = False
        self.spans = {}

    def judge(self, text: str, names: tuple[str, ...], mode: int) -> list[Hit]:
        """Return what of a string has to go."""
        spans: list[Span] = []
        if mode == FULL:
            if len(text) >= self._least:
                if self.direct and len(text) >= _SHORTEST:
                    spans += self._spans_of(text)
                if self._policy is not None:
                    spans += self._policy.find(text)
        elif mode == STRONG_ONLY and self.direct:
            spans += [span for span in self._spans_of(text) if span.strength >= STRONG]
        if mode == NUMBER:
            if self.direct and self._look.is_named_number(names):
                named = self._engine.named_value(names, int(text))
                spans += [Span(0, len(text), named.rule, named.strength)] if named is not None else []
        elif mode != STRONG_ONLY and names and self.direct and self._look.is_named(names):
            named = self._engine.named_value(names, text)
            spans += [named] if named is not None else []
        hits = [self._hit(text, span) for span in spans] if spans else []
        if not self.learning and self._registry.is_looked_for and mode != NAMED:
            known = self._registry.find(text)
            known += self._registry.find_disguised(text, known, hidden=self.hidden)
            if mode == NUMBER:
                known = [hit for hit in known if (hit.start, hit.end) == (0, len(text))]
            if known:
                hits += [hit._replace(new=self._placeholder(hit.rule, hit.value)) for hit in known]
        if self.cuts and not self.learning:
            hits += [
                Hit(cut.start, cut.start + len(cut.text), cut.rule, STRONG, cut.value, self._placeholder(cut.rule, cut.value))
                for cut in self.cuts
                if text.startswith(cut.text, cut.start)
            ]
        if not hits:
            return hits
        if self._policy is not None:
            hits = [hit for hit in hits if not self._policy.allows(hit.value, hit.rule)]
        return self._settled(text, hits) if len(hits) > 1 else hits

    def _spans_of(self, text: str) -> list[Span]:
        """Return what the engine finds in a string; what it found while learning is not looked for again."""
        kept = self.spans
        if self.learning or kept is None or not self.learned or self.aside:
            hits = self.looked.get(hash(text)) if self.learning else None
            spans = self._engine.find(text, hidden=self.hidden and hits is None, hits=hits)
            if spans and self.learning and kept is not None:
                self._keep(text, spans)
            return spans
        return kept.get(hash(text), [])

    def _keep(self, text: str, spans: list[Span]) -> None:
        if self.spans is not None and len(self.spans) < _MOST_KEPT:
            self.spans[hash(text)] = spans
        else:
            self.spans = None

    def _hit(self, text: str, span: Span) -> Hit:
        value = text[span.start : span.end]
        if not self.learning:
            value = self._registry.original(value) or value
        return Hit(span.start, span.end, span.rule, span.strength, value, self._placeholder(span.rule, value))

    def _placeholder(self, rule: str, value: str) -> str:
        if self.learning:
            return ""
        other = self._policy.placeholder(rule, value) if self._policy is not None else None
        return other if other is not None else spelled(self._registry.rule_of(value) or rule, self._tags.tag(value))

    def _settled(self, text: str, hits: list[Hit]) -> list[Hit]:
        """Return hits in order; of those that overlap one is left: the first one, stretched over the others."""
        out: list[Hit] = []
        for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.again, -hit.strength)):
            if out and hit.start < out[-1].end:
                last = out[-1]
                if hit.end > last.end:
                    value = text[last.start : hit.end]
                    rule = last.rule if last.strength >= hit.strength else hit.rule
                    strength = max(last.strength, hit.strength)
                    out[-1] = Hit(last.start, hit.end, rule, strength, value, self._placeholder(rule, value))
                continue
            out.append(hit)
        return out

    # ------------------------------------------------------------------------------------------------ what need not be judged

    def may_be_told(self, column: str) -> bool:
        """Return whether something may be in the name of a column."""
        if self._wider or self._look.is_telling(column):
            return True
        looks = not self.learning and self._registry.is_looked_for
        return looks and self._registry.holds(column.encode("utf-8", "surrogatepass"))

    def is_idle(self, text: str, column: str) -> bool:
        """Return whether it is known of a column's text that nothing is in it."""
        if self._look.is_named((column,)) or self._wider:
            return False
        if self.learning:
            hits = self.looked.get(hash(text))
            return hits is not None and not hits
        if self.aside or self.cuts or self.spans is None or text[:1] in _BEFORE_JSON or hash(text) in self.spans:
            return False
        return not (self._registry.is_looked_for and self._registry.holds(text.encode("utf-8", "surrogatepass")))

    def spots(self, text: str) -> Sequence[Spot] | None:
        """Return where in a text that is JSON something stands that a string may have to go for, None where all may have to."""
        if self._wider or self.cuts or self.aside or self.hidden:
            return None
        direct: Sequence[Spot] | None = []
        if self.direct and (self.learning or self.spans is None or not self.learned):
            hits = self.looked.get(hash(text)) if self.learning else None
            if hits is None:
                hits = self._look.text(text)
            direct = sorted((at, number) for number, starts in hits.items() for at in starts) if hits is not None else None
        if self.learning or direct is None or not self._registry.is_looked_for:
            return direct
        known = self._registry.spots(text)
        return sorted([*direct, *((at, -1) for at in known)]) if known is not None else None

    def noted(self, text: str, hits: Hits) -> None:
        """Take in where in a string something may be."""
        self.looked[hash(text)] = hits

    def says_nothing(self, text: str, names: tuple[str, ...]) -> bool:
        """Return whether a string need not be judged in which nothing stands, by the names that it stands under."""
        if names and self.direct and self._look.is_named(names):
            return False
        if self.learning:
            return True
        # What is known of the strings of JSON within it, and what their names say, is not known of itself.
        return text[:1] not in _BEFORE_JSON and not (self.spans and hash(text) in self.spans)

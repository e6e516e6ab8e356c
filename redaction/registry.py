"""
What was found in a family of sessions: each secret with the rule whose name it bears, and a search for it in any form.

A secret that a strong rule found once goes wherever else it stands in these sessions, bare or encoded. What is too short or too
unsure for that only keeps its name here. Values that the user gave are known from the start, and for good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from satchel.redaction.hiding import STRIDE, around, disguised, hides
from satchel.redaction.literals import finder
from satchel.redaction.spans import STRONG
from satchel.redaction.views import View, views
from satchel.redaction.wraps import unbroken

__all__ = ["Hit", "Registry", "propagates"]

_LEAST = 12
_LEAST_SURE = 8
_LEAST_GIVEN = 4
_HALF = 10
"""What is left of a value that was broken over two lines is looked for if it is so long."""
_GROUP, _MOST_GROUPS = 48, 12
"""So many literals are searched for with vector instructions; more, in groups; many more all at once."""
_LARGEST_TABLE = 1 << 15
"""What literals of so many bytes need as a table with every step in it is memory well spent."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.:;,~!@#$%^*()+=?|{}\[\]`-]{8,}")
"""Signs that JSON spells the same at every depth, whoever wrote it."""
_LETTERS = re.compile(r"[A-Za-z0-9]{8,}")
_ENOUGH = 16
_ASIDE = 64
"""A disguise may be so long itself, or stand so far beside what it disguises."""

Forms = Callable[[str], Mapping[str, str]]
"""Gives the forms in which a value may stand, by name: itself, escaped, encoded."""


class Hit(NamedTuple):
    """
    What has to go: `text[start:end]` stands for `value`, which `rule` found; `new` comes there.

    `again` says that it is known from elsewhere. Its `repr` shows no value.
    """

    start: int
    end: int
    rule: str
    strength: int
    value: str
    new: str = ""
    again: bool = False

    def __repr__(self) -> str:
        return f"Hit({self.start}, {self.end}, {self.rule!r})"


_Met = tuple[int, list[tuple[str, int]]]


class _Known(NamedTuple):
    strength: int
    order: int
    rule: str
    spreads: bool


def propagates(value: str, strength: int, *, sure: bool = False) -> bool:
    """
    Return whether a found value is removed wherever it stands.

    Args:
        sure: The rule knows it by a prefix or a checksum.
    """
    return strength >= STRONG and len(value) >= (_LEAST_SURE if sure else _LEAST)


class Registry:
    """
    The secrets of a family of sessions; its `repr` shows none.

    Args:
        order: The rules' ids in their order: of two that are equally sure of a value, the first gives the name.
        given: Values that the user wants gone, with the id each goes by; of four characters at least.
        forms: Gives the encoded forms of a value.
    """

    def __init__(
        self,
        *,
        order: Iterable[str] = (),
        given: Mapping[str, str] | None = None,
        forms: Forms | None = None,
        native: bool = True,
    ) -> None:
        self._order = {rule: at for at, rule in enumerate(order)}
        self._given = {value: rule for value, rule in (given or {}).items() if len(value) >= _LEAST_GIVEN}
        self._forms = forms or _few_forms
        self._native = native
        self._known: dict[str, _Known] = {}
        self._pieces: dict[str, tuple[str, ...]] = {}
        self._looks = False
        self._forms_of: dict[str, str] | None = None
        self._anchored: list[tuple[_Find, list[list[tuple[str, int]]]]] | None = None
        self._broken: _Find | None = None
        self._partial: frozenset[str] | None = None
        self._longest = self._longest_form = 0
        self._signs = False
        """Whether signs are in an anchor that JSON spells otherwise: it may go beyond a string."""
        self.clear()

    def __repr__(self) -> str:
        return f"Registry({len(self._known)} values)"

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Forget what was found; what the user gave stays."""
        self._known = {value: _Known(STRONG + 1, -1, rule, True) for value, rule in self._given.items()}
        self._pieces.clear()
        self._changed()

    def add(self, value: str, rule: str, strength: int, *, sure: bool = False) -> bool:
        """
        Take a value in, and say whether it is one to look for. The surest rule gives it its name, then the first in order.

        Args:
            sure: The rule knows it by a prefix or a checksum.
        """
        spreads = propagates(value, strength, sure=sure)
        new = _Known(strength, self._order.get(rule, len(self._order)), rule, spreads)
        old = self._known.get(value)
        if old is None:
            self._known[value] = new
            if spreads:
                self._changed()
            return spreads
        if (-new.strength, new.order, new.rule) < (-old.strength, old.order, old.rule):
            self._known[value] = new._replace(spreads=spreads or old.spreads)
        elif spreads and not old.spreads:
            self._known[value] = old._replace(spreads=True)
        if spreads and not old.spreads:
            self._changed()
        return spreads or old.spreads

    def rule_of(self, value: str) -> str | None:
        """Return the id of the rule whose name a value bears, None for one that was not found."""
        known = self._known.get(value)
        return known.rule if known is not None else None

    def original(self, text: str) -> str | None:
        """Return the value of which a text is a form, None where it is none."""
        return self._spelled().get(text)

    @property
    def is_looked_for(self) -> bool:
        """Whether any value is to be looked for."""
        return self._looks

    @property
    def spreading(self) -> list[str]:
        """The values that are looked for everywhere, the longest first."""
        return sorted((value for value, known in self._known.items() if known.spreads), key=lambda value: (-len(value), value))

    # ------------------------------------------------------------------------------------------------ searching

    def holds(self, data: bytes) -> bool:
        """Return False only if no form of any value is in a text, however deep in JSON the text is."""
        if self._anchored is None:
            self._prepare()
        return any(find(data) for find, _ in self._anchored or ())

    def spots(self, text: str) -> list[int] | None:
        """
        Return where in a text that is JSON something stands for whose sake `find` may find something in the string that it stands
        in, or in JSON inside of that: in no other string does it. None where that cannot be told.
        """
        if self._anchored is None:
            self._prepare()
        if self._signs or not text.isascii():
            return None
        data = text.encode()
        return sorted(start for find, _ in self._anchored or () for _, start, _ in find(data))

    def find(self, text: str) -> list[Hit]:
        """Return where forms of values stand, by where they begin; they may overlap."""
        data = text.encode("utf-8", "surrogatepass")
        met = self._met(data)
        return self._found(text, data, met, "surrogatepass") if met else []

    def find_in(self, data: bytes) -> list[Hit]:
        """Return what `find` does, of UTF-8 that may be broken off: a byte of no character counts as one."""
        met = self._met(data)
        if not met:
            return []
        text = data.decode("utf-8", "surrogateescape")
        return self._found(text, data, met, "surrogateescape")

    def _found(self, text: str, data: bytes, met: list[_Met], errors: str) -> list[Hit]:
        found: set[tuple[int, int]] = set()
        at = count = 0
        for place, forms in sorted(met, key=lambda one: one[0]):
            count += place - at if len(data) == len(text) else len(data[at:place].decode("utf-8", errors))
            at = place
            for form, offset in forms:
                start = count - offset
                if start >= 0 and text.startswith(form, start):
                    found.add((start, start + len(form)))
        spelled, known = self._spelled(), self._known
        hits: list[Hit] = []
        for start, end in sorted(found):
            value = spelled[text[start:end]]
            hits.append(Hit(start, end, known[value].rule, STRONG, value, again=True))
        return hits

    def _met(self, data: bytes) -> list[_Met]:
        """Return where anchors stand in a text, with the forms that have them and where in these they stand."""
        if self._anchored is None:
            self._prepare()
        anchored = self._anchored or []
        met = [(start, end, forms[number]) for find, forms in anchored for number, start, end in find(data)]
        # Others may begin within these, and in those others again.
        seen = {(start, end) for start, end, _ in met}
        for start, end, _ in met:
            begin = start + 1
            piece = data[begin : end + self._longest]
            for find, forms in anchored:
                for number, place, stop in find(piece):
                    if (begin + place, begin + stop) not in seen:
                        seen.add((begin + place, begin + stop))
                        met.append((begin + place, begin + stop, forms[number]))
        return [(start, forms) for start, _, forms in met]

    def find_disguised(self, text: str, found: Sequence[Hit] = (), *, hidden: bool = True) -> list[Hit]:
        """
        Return where values stand that only another reading of a text shows: escaped, with codes in them, broken over lines.

        Args:
            found: What `find` found in it.
            hidden: Whether anything in it may be written otherwise than it is read.
        """
        hits: list[Hit] = []
        if hidden and hides(text):
            reach = self._reach()
            for start, end in around(disguised(text), len(text), before=reach, after=reach + STRIDE):
                for view in views(text[start:end], hot=True):
                    hits += [hit._replace(start=start + hit.start, end=start + hit.end) for hit in self._in_view(view)]
        if "\n" in text and self._holds_half(text, found):
            whole = unbroken(text)
            if whole is not None:
                hits += [hit for hit in self._in_view(whole) if "\n" in text[hit.start : hit.end]]
        return hits

    def _reach(self) -> int:
        """Return how far from a disguise what is looked for may begin or end, if nothing else in it is disguised."""
        self._spelled()
        return self._longest_form + _ASIDE

    def _in_view(self, view: View) -> Iterator[Hit]:
        for hit in self.find(view.text):
            yield hit._replace(start=view.start(hit.start), end=view.end(hit.end))

    def _holds_half(self, text: str, found: Sequence[Hit]) -> bool:
        """Return whether a part of a value stands in a text outside of those that were found whole, and are part of no other."""
        if self._broken is None:
            self._broken = _finds([half.encode("utf-8", "surrogatepass") for _, half in self._halves()], native=self._native)
        if found:
            if self._partial is None:
                self._partial = self._parts_of_others()
            rest, at = [], 0
            for hit in found:
                if hit.value in self._partial:
                    continue
                rest.append(text[at : hit.start])
                at = max(at, hit.end)
            text = "\0".join([*rest, text[at:]])
        return bool(self._broken(text.encode("utf-8", "surrogatepass")))

    def _halves(self) -> Iterator[tuple[str, str]]:
        """Yield values with parts of them, of which one is in every text that holds the value broken once."""
        for value in self.spreading:
            if len(value) >= 2 * _HALF and "\n" not in value:
                yield value, value[: len(value) // 2]
                yield value, value[len(value) // 2 :]

    def _parts_of_others(self) -> frozenset[str]:
        """Return the values that half of another one is in, and not all of it: where they stand, that may stand broken."""
        pairs = list(self._halves())
        find = finder([half for _, half in pairs], native=self._native, brief=True)
        return frozenset(value for value in self.spreading if any(pairs[number][0] not in value for number in find(value)))

    def _changed(self) -> None:
        self._looks = any(known.spreads for known in self._known.values())
        self._forms_of = None
        self._anchored = None
        self._broken = None
        self._partial = None

    def _spelled(self) -> dict[str, str]:
        """Return every form with the value it stands for."""
        if self._forms_of is None:
            forms: dict[str, str] = {}
            spreading = self.spreading
            for value in spreading:
                if value not in self._pieces:
                    least = min(len(value), _LEAST)
                    self._pieces[value] = tuple(form for form in self._forms(value).values() if len(form) >= least)
                for form in self._pieces[value]:
                    if form != value:
                        forms.setdefault(form, value)
            for value in spreading:
                # One that is a form of another one, and was found by itself, stands for that.
                forms.setdefault(value, value)
            self._forms_of = forms
            self._longest_form = max(map(len, forms), default=0)
        return self._forms_of

    def _prepare(self) -> None:
        """Make what looks for anchors: bytes of which one is in every text that holds a form, whatever escapes are around it."""
        self._signs = False
        anchors: dict[bytes, list[tuple[str, int]]] = {}
        cores: dict[str, str] = {}
        for form, value in self._spelled().items():
            core = cores.get(value)
            if core is None:
                core = cores[value] = _core(value)
            if core and core in form:
                # Escaped and encoded for URLs, most values still have it in them: one anchor for many forms.
                anchors.setdefault(core.encode(), []).append((form, form.index(core)))
                continue
            # A run of letters and digits is spelled the same at every depth.
            run = max(_PLAIN.findall(form), key=len, default="")
            if run:
                part, within = _middle(run)
                anchors.setdefault(part.encode(), []).append((form, form.index(run) + within))
            else:
                self._signs = True
                for spelling in _escaped(form):
                    anchors.setdefault(spelling, []).append((form, 0))
        for _, half in self._halves():
            # A value that is broken over lines is looked for closely where a part of it is.
            run = _core(half) or _middle(max(_PLAIN.findall(half), key=len, default=""))[0]
            self._signs = self._signs or not run
            anchors.setdefault((run or half).encode("utf-8", "surrogatepass"), [])
        sizes = sorted({len(anchor) for anchor in anchors})
        for anchor, forms in anchors.items():
            # Of two anchors that begin alike the longer one is met.
            for size in sizes:
                if size >= len(anchor):
                    break
                forms += [pair for pair in anchors.get(anchor[:size], ()) if pair not in forms]
        self._longest = max(map(len, anchors), default=0)
        groups = _groups(list(anchors))
        self._anchored = [(_finds(group, native=self._native), [anchors[anchor] for anchor in group]) for group in groups]


def _few_forms(value: str) -> dict[str, str]:
    import json

    return {"raw": value, "json": json.dumps(value)[1:-1], "json-text": json.dumps(value, ensure_ascii=False)[1:-1]}


def _core(value: str) -> str:
    """
    Return letters and digits by which the forms of a value are looked for, of its second half by choice; "" for none.

    A run of letters alone is none: a word stands in many texts.
    """
    half = len(value) // 2
    for part in (value[half:], value[:half], value):
        run = max((run for run in _LETTERS.findall(part) if not run.isalpha()), key=len, default="")
        if run:
            return _middle(run)[0]
    return ""


def _middle(run: str) -> tuple[str, int]:
    """Return enough of a run to know it by, and where in it that stands: a long one makes looking for it no surer."""
    start = max(0, (len(run) - _ENOUGH) // 2)
    return run[start : start + _ENOUGH], start


def _escaped(form: str) -> Iterator[bytes]:
    """Yield the spellings of a text that holds signs, in JSON to the third depth."""
    import json

    for ascii_only in (False, True):
        spelled = form
        for _ in range(4):
            yield spelled.encode("utf-8", "surrogatepass")
            spelled = json.dumps(spelled, ensure_ascii=ascii_only)[1:-1]


def _groups(literals: list[bytes]) -> list[list[bytes]]:
    if len(literals) > _MOST_GROUPS * _GROUP:
        return [literals]
    return [literals[at : at + _GROUP] for at in range(0, len(literals), _GROUP)]


_Find = Callable[[bytes], list[tuple[int, int, int]]]
"""Finds literals in bytes: which, where it starts, where it ends; of those that overlap the first one, and then the longest."""


def _finds(literals: list[bytes], *, native: bool) -> _Find:
    if native:
        try:
            import ahocorasick_rs as library
        except ImportError:
            pass
        else:
            way = library.Implementation.ContiguousNFA
            if len(literals) > _GROUP and sum(map(len, literals)) <= _LARGEST_TABLE:
                way = library.Implementation.DFA
            longest = library.MatchKind.LeftmostLongest
            found: _Find = library.BytesAhoCorasick(literals, matchkind=longest, implementation=way).find_matches_as_indexes
            return found

    def scan(data: bytes) -> list[tuple[int, int, int]]:
        met: list[tuple[int, int, int]] = []
        for number, literal in enumerate(literals):
            at = data.find(literal)
            while at >= 0:
                met.append((number, at, at + len(literal)))
                at = data.find(literal, at + len(literal))
        return met

    return scan

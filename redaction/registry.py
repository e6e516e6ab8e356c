"""
What was found in a family of sessions: each secret with the rule whose name it bears, and a search for it in any form.

A secret that a strong rule found once goes wherever else it stands in these sessions, bare or encoded. What is too short or too
unsure for that only keeps its name here. Values that the user gave are known from the start, and for good.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from satchel.redaction.literals import finder
from satchel.redaction.spans import STRONG
from satchel.redaction.views import View, hides, views
from satchel.redaction.wraps import unbroken

__all__ = ["Hit", "Registry", "propagates"]

_LEAST = 12
_LEAST_SURE = 8
_LEAST_GIVEN = 4
_HALF = 10
"""What is left of a value that was broken over two lines is looked for if it is so long."""
_GROUP = 48
"""So many literals are searched for with vector instructions; more, in groups."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.:;,~!@#$%^*()+=?|{}\[\]`-]{8,}")
"""Signs that JSON spells the same at every depth, whoever wrote it."""

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
        self._bytes: Callable[[bytes], bool] | None = None
        self._broken: Callable[[bytes], bool] | None = None
        self._text: Callable[[str], list[tuple[int, int]]] | None = None
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
        if self._bytes is None:
            self._bytes = _in_bytes(self._anchors(), native=self._native)
        return self._bytes(data)

    def find(self, text: str) -> list[Hit]:
        """Return where forms of values stand, by where they begin; they may overlap."""
        if self._text is None:
            self._text = _in_text(list(self._spelled()), native=self._native)
        spelled, known = self._spelled(), self._known
        hits: list[Hit] = []
        for start, end in self._text(text):
            value = spelled[text[start:end]]
            hits.append(Hit(start, end, known[value].rule, STRONG, value, again=True))
        return hits

    def find_disguised(self, text: str) -> list[Hit]:
        """Return where values stand that only another reading of a text shows: escaped, with codes in them, broken over lines."""
        hits: list[Hit] = []
        if hides(text):
            for view in views(text, hot=True):
                hits += self._in_view(view)
        if "\n" in text and self._holds_half(text.encode("utf-8", "surrogatepass")):
            whole = unbroken(text)
            if whole is not None:
                hits += [hit for hit in self._in_view(whole) if "\n" in text[hit.start : hit.end]]
        return hits

    def _in_view(self, view: View) -> Iterator[Hit]:
        for hit in self.find(view.text):
            yield hit._replace(start=view.start(hit.start), end=view.end(hit.end))

    def _holds_half(self, data: bytes) -> bool:
        if self._broken is None:
            self._broken = _in_bytes([half.encode("utf-8", "surrogatepass") for half in self._halves()], native=self._native)
        return self._broken(data)

    def _halves(self) -> Iterator[str]:
        """Yield parts of values, of which one is in every text that holds a value broken once."""
        for value in self.spreading:
            if len(value) >= 2 * _HALF and "\n" not in value:
                yield value[: len(value) // 2]
                yield value[len(value) // 2 :]

    def _changed(self) -> None:
        self._looks = any(known.spreads for known in self._known.values())
        self._forms_of = None
        self._bytes = None
        self._broken = None
        self._text = None

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
        return self._forms_of

    def _anchors(self) -> list[bytes]:
        """Return bytes of which one is in every text that holds a form, whatever escapes are around it and in it."""
        found: dict[bytes, None] = {}
        for form in (*self._spelled(), *self._halves()):
            run = max(_PLAIN.findall(form), key=len, default="")
            if run:
                found[run.encode()] = None
            else:
                for spelling in _escaped(form):
                    found[spelling] = None
        return list(found)


def _few_forms(value: str) -> dict[str, str]:
    import json

    return {"raw": value, "json": json.dumps(value)[1:-1], "json-text": json.dumps(value, ensure_ascii=False)[1:-1]}


def _escaped(form: str) -> Iterator[bytes]:
    """Yield the spellings of a text that holds signs, in JSON to the third depth."""
    import json

    for ascii_only in (False, True):
        spelled = form
        for _ in range(4):
            yield spelled.encode("utf-8", "surrogatepass")
            spelled = json.dumps(spelled, ensure_ascii=ascii_only)[1:-1]


def _groups(literals: list[bytes]) -> list[list[bytes]]:
    if len(literals) > 16 * _GROUP:
        return [literals]
    return [literals[at : at + _GROUP] for at in range(0, len(literals), _GROUP)]


def _in_bytes(literals: list[bytes], *, native: bool) -> Callable[[bytes], bool]:
    if native:
        try:
            import ahocorasick_rs as library
        except ImportError:
            pass
        else:
            longest, brief = library.MatchKind.LeftmostLongest, library.Implementation.ContiguousNFA
            finds = [
                library.BytesAhoCorasick(group, matchkind=longest, implementation=brief).find_matches_as_indexes
                for group in _groups(literals)
            ]

            def scan(data: bytes) -> bool:
                return any(find(data) for find in finds)

            return scan
    return lambda data: any(literal in data for literal in literals)


def _in_text(literals: list[str], *, native: bool) -> Callable[[str], list[tuple[int, int]]]:
    """Return what finds every occurrence of every literal, those that overlap too."""
    find = finder([literal for literal in literals if _is_utf8(literal)], native=native, brief=True)
    lengths = [len(literal) for literal in literals if _is_utf8(literal)]
    odd = [literal for literal in literals if not _is_utf8(literal)]
    find_odd = finder(odd, native=False)

    def scan(text: str) -> list[tuple[int, int]]:
        usable = text if _is_utf8(text) else _LONE.sub("\ufffd", text)
        found = (
            [(start, start + lengths[number]) for number, starts in find(usable).items() for start in starts] if lengths else []
        )
        if odd:
            found += [(start, start + len(odd[number])) for number, starts in find_odd(text).items() for start in starts]
        return sorted(found)

    return scan


_LONE = re.compile("[\ud800-\udfff]")


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

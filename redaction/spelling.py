"""
What goes from a text, and where that stands in the text itself: what a string of JSON says, and how it is spelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import NamedTuple

from satchel.redaction.literals import Hits
from satchel.redaction.registry import Hit

__all__ = ["Edit", "Names", "Spot", "applied", "edits_of", "lifted", "said_at"]

Names = tuple[str, ...]
Spot = tuple[int, int]
"""Where a literal stands, and its number."""


class Edit(NamedTuple):
    """
    What goes, and what comes in its place.

    Attributes:
        new: What comes there, as it is spelled in the text.
        names: The names that it stands under, outermost first.
    """

    start: int
    end: int
    new: str
    hit: Hit
    names: Names

    def __repr__(self) -> str:
        return f"Edit({self.start}, {self.end}, {self.hit.rule!r})"


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with its edits made, which are in order."""
    parts: list[str] = []
    at = 0
    for edit in edits:
        parts += (text[at : edit.start], edit.new)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


def edits_of(hits: Iterable[Hit], names: Names = ()) -> list[Edit]:
    """Return the edits of a text that take out what was found in it."""
    return [Edit(hit.start, hit.end, hit.new, hit, names) for hit in hits]


def said_at(spots: Sequence[Spot], text: str, begin: int) -> Hits | None:
    """Return where in what a string says literals stand that stand in its spelling; None where that cannot be told."""
    hits: Hits = {}
    at, count = begin, 0
    for place, number in spots:
        piece = text[at:place]
        if "\\" in piece:
            try:
                piece, end = scanstring(piece + '"', 0, False)
            except ValueError:
                return None
            if end <= place - at:
                return None
        count += len(piece)
        at = place
        hits.setdefault(number, []).append(count)
    return hits


_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)

_ESCAPES = re.compile(r"(?:\\[^u])+|\\u")


def lifted(found: Sequence[Edit], said: str, text: str, begin: int, end: int) -> list[Edit]:
    """Return edits of what a string says as edits of the text that it is spelled in, between its quotes at `begin` and `end`."""
    if text.find("\\", begin, end) < 0:
        return [edit._replace(start=edit.start + begin, end=edit.end + begin, new=_escaped(edit.new)) for edit in found]
    places = _places({place for edit in found for place in (edit.start, edit.end)}, said, text, begin, end)
    return [edit._replace(start=places[edit.start], end=places[edit.end], new=_escaped(edit.new)) for edit in found]


def _places(wanted: set[int], said: str, text: str, begin: int, end: int) -> dict[int, int]:
    """Return where characters of what a string says stand in its spelling."""
    places: dict[int, int] = {}
    at, done = begin, 0
    for place in sorted(wanted):
        piece = said[done:place]
        for spell in (encode_basestring, encode_basestring_ascii):
            # Most writers spell as one of the two: then there is no need to go from escape to escape.
            spelled = spell(piece)[1:-1]
            if text.startswith(spelled, at):
                break
        else:
            return _places_one_by_one(wanted, text, begin, end)
        at += len(spelled)
        done = place
        places[place] = at
    return places


def _places_one_by_one(wanted: set[int], text: str, begin: int, end: int) -> dict[int, int]:
    """Return where characters of what a string says stand in its spelling."""
    places: dict[int, int] = {}
    at, said = begin, 0
    waiting = iter(sorted(wanted))
    place = next(waiting, None)
    while place is not None and at < end:
        stop = text.find("\\", at, end)
        plain = (stop if stop >= 0 else end) - at
        while place is not None and place <= said + plain:
            places[place] = at + place - said
            place = next(waiting, None)
        match = _ESCAPES.match(text, stop, end) if stop >= 0 else None
        if place is None or match is None:
            break
        run = match[0]
        if len(run) > 2 and "u" not in run:
            # Most runs are of escapes of two characters each.
            steps = min(len(run) // 2, place - said - plain)
            at, said = stop + 2 * steps, said + plain + steps
            continue
        one = _ESCAPE.match(text, stop, end)
        at, said = (one.end() if one else end), said + plain + 1
    while place is not None:
        places[place] = at + place - said
        place = next(waiting, None)
    return places


def _escaped(new: str) -> str:
    return new.replace("\\", "\\\\").replace('"', '\\"')

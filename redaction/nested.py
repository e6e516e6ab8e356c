"""
Every string of a text of JSON, and of the JSON inside its strings: where each stands in the text itself.

A text is gone through by its tokens and not by what it parses to. So a key that is there twice is seen twice, and what has to go
is cut out of the text where it stands: all else, white space and the spelling of escapes too, stays as it was, at any depth.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

from satchel.errors import JsonError
from satchel.jsontext import loads_quick
from satchel.redaction.commonplace import words
from satchel.redaction.literals import Hits
from satchel.redaction.media import BASE64, SMALLEST, is_media
from satchel.redaction.registry import Hit
from satchel.redaction.spelling import Edit, Names, Spot, applied, edits_of, lifted, said_at

__all__ = [
    "FULL",
    "NAMED",
    "NUMBER",
    "STRONG_ONLY",
    "Edit",
    "Judge",
    "Sieve",
    "Spot",
    "applied",
    "edits",
    "edits_of",
    "mode_of",
]

FULL, STRONG_ONLY, NAMED, NUMBER = 0, 1, 2, 3
"""
How a string is judged: by every rule; by the surest ones, since it is an id or a cipher that other things hang on; by the names
that it stands under alone; the same, for a number.
"""

Judge = Callable[[str, Names, int], Sequence[Hit]]
"""
Says what of a string has to go, in order and without overlaps: takes the string, the names it stands under, and how to judge it.
"""


class Sieve(NamedTuple):
    """
    How strings are judged.

    Attributes:
        judge: Says what of a string has to go.
        least: Shorter strings are not judged.
        media: Gives what comes in the place of a picture, a sound or a document; None where all of them stay.
        places: Where in the text each edit stands is wanted, and not just what has to go: then there is one for each place.
        spots: Says of a text that is JSON where something stands that a string may have to go for, in order, with the numbers of
            the literals: a string in which none does, and whose names say nothing, need not be judged. None where all have to be.
        idle: Says of a string in which nothing stands whether it need not be judged, by the names that it stands under.
        note: Is told where in a string that is to be judged literals stand, and that nothing else is in it.
    """

    judge: Judge
    least: int = 6
    media: Callable[[str], Hit | None] | None = None
    places: bool = True
    spots: Callable[[str], Sequence[Spot] | None] = lambda text: None
    idle: Callable[[str, Names], bool] = lambda text, names: False
    note: Callable[[str, Hits], None] | None = None


_DEPTH = 6
_LARGEST = 8 << 20
_PREFIX = "\0json:"
_LEAST_NAMED = 4


def edits(text: str, sieve: Sieve, names: Names = (), mode: int = FULL, *, depth: int = 0) -> list[Edit]:
    """
    Return what has to go from a text, which may be JSON: it is opened then, and each of its strings judged, keys too.

    Args:
        names: The names that the text stands under.
        mode: How it is judged when it is no JSON.
    """
    begin = len(_PREFIX) if text.startswith(_PREFIX) else 0
    head = text[begin : begin + 64].lstrip(" \t\r\n\ufeff")[:1]
    # What is JSON by itself is opened whatever its size: as a text it would be cut where it must not.
    small = depth == 0 or (depth <= _DEPTH and len(text) <= _LARGEST)
    if (head == "{" or head == "[") and small and _is_json(text[begin:] if begin else text):
        return _Walk(text, sieve, depth).walk(begin, names)
    return edits_of(sieve.judge(text, names, mode), names)


def _is_json(text: str) -> bool:
    try:
        loads_quick(text)
    except JsonError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------- names

_ID = re.compile(
    r"""(?x) (?: ^ | _ | - )
      (?: id | ids | uuid | guid | sha | sha1 | sha256 | commit | hash | digest | checksum | etag | cursor ) $
    | [a-z0-9] (?: Id | ID | Ids | Uuid | UUID | Sha | SHA | Hash | Digest | Commit ) $
    | ^ (?: leafUuid | session_key | sessionKey | prompt_cache_key | ref | refs | integrity | resolved ) $"""
)


_CIPHERS = words(
    """signature encrypted_content thoughtSignature thought_signature encrypted_reasoning reasoning_signature
    redacted_thinking"""
)
_MEDIA = words("data url image_url uri src source file_data b64_json audio image blob base64 bytes result partial_image_b64")
_SCHEMA = words("type title description format default enum const example examples pattern $ref")
_PLAIN, _IS_ID, _IS_CIPHER, _IS_MEDIA = 0, 1, 2, 3
_kinds: dict[str, int] = {}


def _kind(name: str) -> int:
    found = _kinds.get(name)
    if found is None:
        if len(_kinds) > 4096:
            _kinds.clear()
        found = _IS_CIPHER if name in _CIPHERS else _IS_MEDIA if name in _MEDIA else _IS_ID if _ID.search(name) else _PLAIN
        _kinds[name] = found
    return found


def mode_of(name: str) -> int:
    """Return how a string under a name is judged."""
    return STRONG_ONLY if _kind(name) in (_IS_ID, _IS_CIPHER) else FULL


# ---------------------------------------------------------------------------------------------------------- the walk

_NEXT = re.compile(r'[\s,:\ufeff]*(["{}\[\]]|[^\s,:"{}\[\]]+)')
_PAIR_NAMES = ("name", "key", "header", "field", "variable", "parameter")
_PAIR_VALUES = ("value", "val")
_SIDE = frozenset((*_PAIR_NAMES, *_PAIR_VALUES, "kind"))
_LONGEST_NAME = 128
_LONGEST_VALUE = 4096
_MOST_LINES = 512


class _Leaf(NamedTuple):
    begin: int
    end: int
    text: str


class _Frame:
    """An object or an array that is not at its end yet."""

    __slots__ = ("below", "block", "is_object", "items", "key", "keys", "leaves", "names", "side", "waits")

    def __init__(self, is_object: bool, names: Names) -> None:
        self.is_object = is_object
        self.items: list[_Leaf | None] = []
        """The first strings of an array, None for what is no string: two of them may be a name and its value."""
        self.waits = is_object
        """Whether a key comes next."""
        self.names = names
        self.key: str | None = None
        self.keys: list[tuple[str, int, int]] = []
        self.side: dict[str, _Leaf] | None = None
        """What may be one half of a pair."""
        self.leaves: list[tuple[str, _Leaf]] | None = None
        """Its strings, where they may be the data of a Secret."""
        self.below: list[tuple[str, _Leaf]] = []
        """Those of the objects in it."""
        self.block: list[_Leaf] | None = None
        """The strings of an array from the one on that begins a key of several lines."""


class _Walk:
    """One text that is JSON for sure."""

    def __init__(self, text: str, sieve: Sieve, depth: int) -> None:
        self._text = text
        self._sieve = sieve
        self._judge = sieve.judge
        self._least = sieve.least
        self._depth = depth
        self._edits: list[Edit] = []
        self._changed_keys: dict[int, str] = {}
        self._spots = sieve.spots(text) if sieve.media is None else None
        self._spot = 0
        """How many of the spots are behind."""

    def _among(self, begin: int, end: int) -> Sequence[Spot] | None:
        """Return what may stand in a part of the text, None where that is not known; parts are asked for in order."""
        spots, at = self._spots, self._spot
        if spots is None:
            return None
        while at < len(spots) and spots[at][0] < begin:
            at += 1
        first = at
        while at < len(spots) and spots[at][0] < end:
            at += 1
        self._spot = at
        return spots[first:at]

    def walk(self, at: int, names: Names) -> list[Edit]:
        text = self._text
        stack: list[_Frame] = []
        frame = _Frame(False, names)
        find = _NEXT.match
        least = min(self._least, _LEAST_NAMED)
        while match := find(text, at):
            sign = match[1]
            at = match.end()
            if sign == '"':
                begin = at
                said, at = scanstring(text, at, False)
                if frame.waits:
                    frame.key = said
                    frame.waits = False
                    frame.keys.append((said, begin, at - 1))
                    if len(said) >= self._least and (self._among(begin, at - 1) != [] or not self._sieve.idle(said, ())):
                        self._key(said, begin, at - 1, frame.names)
                    continue
                if len(said) >= least:
                    self._string(said, begin, at - 1, frame)
                if not frame.is_object and len(frame.items) < 3:
                    frame.items.append(_Leaf(begin, at - 1, said))
                frame.waits = frame.is_object
            elif sign == "{" or sign == "[":
                if not frame.is_object and len(frame.items) < 3:
                    frame.items.append(None)
                below = frame.names if frame.key is None else (*frame.names, frame.key)
                stack.append(frame)
                frame = _Frame(sign == "{", below)
                if below and (below[-1] == "data" or below[-1] == "stringData"):
                    frame.leaves = []
            elif sign == "}" or sign == "]":
                if frame.is_object:
                    self._ended(frame, stack[-1])
                elif len(frame.items) == 2:
                    self._paired(frame)
                if frame.block is not None and len(frame.block) > 1:
                    self._in_lines(frame.block, frame.names)
                frame = stack.pop()
                frame.waits = frame.is_object
            else:
                if not frame.is_object and len(frame.items) < 3:
                    frame.items.append(None)
                if len(sign) >= _LEAST_NAMED and (frame.key is not None or frame.names):
                    self._number(sign, match.start(1), at, frame)
                frame.waits = frame.is_object
        if not self._sieve.places:
            return self._edits
        self._edits.sort(key=lambda edit: (edit.start, -edit.end))
        return _without_overlaps(self._edits)

    # ------------------------------------------------------------------------------------------------ strings

    def _string(self, said: str, begin: int, end: int, frame: _Frame) -> None:
        names, key = frame.names, frame.key
        if not frame.is_object:
            if frame.block is None and "PRIVATE KEY" in said and "BEGIN " in said:
                frame.block = []
            if frame.block is not None and len(frame.block) < _MOST_LINES:
                frame.block.append(_Leaf(begin, end, said))
        if key is not None:
            names = (*names, key)
            if key in _SIDE:
                if frame.side is None:
                    frame.side = {}
                frame.side[key] = _Leaf(begin, end, said)
            if frame.leaves is not None:
                frame.leaves.append((key, _Leaf(begin, end, said)))
        last = names[-1] if names else ""
        kind = _kind(last)
        mode = FULL
        if kind in (_IS_ID, _IS_CIPHER):
            mode = STRONG_ONLY
        elif len(said) >= SMALLEST and is_media(said, field=kind == _IS_MEDIA):
            hit = self._sieve.media(said) if self._sieve.media is not None else None
            if hit is not None:
                self._edits.append(Edit(begin, end, hit.new, hit, names))
            return
        if len(names) > 2 and names[-3] == "properties" and last in _SCHEMA:
            names = names[:-3]
        if not names and len(said) < self._least:
            return
        spots = self._among(begin, end)
        if spots is not None and last != "chunk":
            if not spots and self._sieve.idle(said, names):
                return
            if self._sieve.note is not None:
                hits = said_at(spots, self._text, begin)
                if hits is not None:
                    self._sieve.note(said, hits)
        if last == "chunk" and (plain := _text_in(said)) is not None:
            # Bytes of a stream: what goes from their text goes there.
            found = edits(plain, self._sieve, names[:-1], mode, depth=self._depth + 1)
            if found:
                new = base64.b64encode(applied(plain, found).encode()).decode()
                self._edits.append(Edit(begin, end, new, found[0].hit, names))
            return
        found = edits(said, self._sieve, names, mode, depth=self._depth + 1)
        if found:
            self._edits += self._lifted(found, said, begin, end)

    def _key(self, said: str, begin: int, end: int, names: Names) -> None:
        found = edits_of(self._judge(said, (), FULL), names)
        if found:
            self._edits += self._lifted(found, said, begin, end)
            self._changed_keys[begin] = applied(said, found)

    def _named(self, leaf: _Leaf, names: Names) -> None:
        found = edits_of(self._judge(leaf.text, names, NAMED), names)
        if found:
            self._edits += self._lifted(found, leaf.text, leaf.begin, leaf.end)

    def _paired(self, frame: _Frame) -> None:
        """Look at an array of a name and its value, as lists of headers have them."""
        name, value = frame.items
        if name is not None and value is not None and len(name.text) <= _LONGEST_NAME and len(value.text) <= _LONGEST_VALUE:
            self._named(value, (*frame.names, name.text))

    def _in_lines(self, lines: Sequence[_Leaf], names: Names) -> None:
        """Judge strings of an array that are the lines of one text: a key of several lines is in none of them by itself."""
        hits = self._judge("\n".join(line.text for line in lines), (), FULL)
        at = 0
        for line in lines if hits else ():
            past = at + len(line.text)
            parts = [
                Edit(max(hit.start, at) - at, min(hit.end, past) - at, hit.new, hit, names)
                for hit in hits
                if hit.start < past and hit.end > at and "\n" in hit.value
            ]
            if parts:
                self._edits += self._lifted(parts, line.text, line.begin, line.end)
            at = past + 1

    def _number(self, sign: str, begin: int, end: int, frame: _Frame) -> None:
        if not sign.isdigit():
            return
        names = frame.names if frame.key is None else (*frame.names, frame.key)
        for hit in self._judge(sign, names, NUMBER):
            self._edits.append(Edit(begin, end, f'"{hit.new}"', hit, names))

    def _lifted(self, found: Sequence[Edit], said: str, begin: int, end: int) -> Sequence[Edit]:
        return lifted(found, said, self._text, begin, end) if self._sieve.places else found

    # ------------------------------------------------------------------------------------------------ objects

    def _ended(self, frame: _Frame, outer: _Frame) -> None:
        """Look at what only a whole object tells: a pair of name and value, a Secret of Kubernetes, keys that become the same."""
        side = frame.side
        if side is not None:
            value = next((side[name] for name in _PAIR_VALUES if name in side), None)
            name = next((side[name] for name in _PAIR_NAMES if name in side), None)
            short = (
                value is not None and name is not None and len(name.text) <= _LONGEST_NAME and len(value.text) <= _LONGEST_VALUE
            )
            if value is not None and name is not None and short:
                self._named(value, (*frame.names, name.text))
            if "kind" in side and side["kind"].text == "Secret":
                for key, leaf in frame.below:
                    self._named(leaf, (*frame.names, "secrets", key))
        if frame.leaves and outer.is_object:
            outer.below += frame.leaves
        if self._changed_keys:
            self._tell_apart(frame)

    def _tell_apart(self, frame: _Frame) -> None:
        """Keep keys apart that would be the same without what goes from them."""
        changed = [key for key in frame.keys if key[1] in self._changed_keys]
        taken = {key for key, begin, _ in frame.keys if begin not in self._changed_keys}
        spelled: dict[str, str] = {}
        for key, begin, end in changed:
            new = self._changed_keys.pop(begin)
            if key not in spelled:
                spelled[key] = new
                while spelled[key] in taken:
                    spelled[key] += "+"
                taken.add(spelled[key])
            more = spelled[key][len(new) :]
            if more and self._sieve.places:
                at = max(at for at, edit in enumerate(self._edits) if begin <= edit.start and edit.end <= end)
                self._edits[at] = self._edits[at]._replace(new=self._edits[at].new + more)


def _without_overlaps(edits: list[Edit]) -> list[Edit]:
    """Return edits that are sorted, of those that overlap the one that begins first, stretched over the others."""
    out: list[Edit] = []
    for edit in edits:
        if out and edit.start < out[-1].end:
            last = out[-1]
            if edit.end > last.end:
                out[-1] = last._replace(end=edit.end)
            continue
        out.append(edit)
    return out


def _text_in(said: str) -> str | None:
    """Return the text that base64 stands for, None where it is none."""
    if len(said) % 4 or not BASE64.match(said):
        return None
    try:
        return base64.b64decode(said, validate=True).decode()
    except (UnicodeDecodeError, binascii.Error):
        return None

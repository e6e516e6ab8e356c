"""
Views: how else a text can be read, and where in it each part of such a reading stands.

A secret may stand in a text escaped, percent-encoded, as character references, or with colour codes and invisible characters in
it. A view is the text with one such layer taken off. What is found in it is found in the text too: `start` and `end` say where.
Making a view is one substitution; its map is made when it is first asked for, which for most views is never.
Wraps and listings, which are read around a place only, are in `satchel.redaction.wraps`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from satchel.redaction.codes import CODES, coded
from satchel.redaction.hiding import hides

__all__ = ["View", "sliced", "views"]

Pieces = Iterable[tuple[int, int, int]]
"""
What a view is made of, in order: (where it begins in the view, where in the text it was made from, characters there per
character here). What no piece comes from is not in the view.
"""


class View:
    """
    A reading of a text: `text` is what it says. Immutable; its repr shows nothing of it.

    Args:
        text: What it says.
        pieces: Gives what it is made of; called once, and only if a place is asked for.
        base: The view it was made from, where that is one; places are then those of the first text.
    """

    __slots__ = ("_at", "_base", "_from", "_pieces", "_step", "text")

    def __init__(self, text: str, pieces: Callable[[], Pieces], base: View | None = None) -> None:
        self.text = text
        self._base = base
        self._pieces: Callable[[], Pieces] | None = pieces
        self._at, self._from, self._step = array("Q"), array("Q"), array("I")

    def __repr__(self) -> str:
        return f"View({len(self.text)} characters)"

    def start(self, i: int) -> int:
        """Return where in the original the character `i` of this view begins, its whole escape with it."""
        if self._pieces is not None:
            self._map()
        k = bisect_right(self._at, i) - 1
        at = self._from[k] + (i - self._at[k]) * self._step[k]
        return at if self._base is None else self._base.start(at)

    def end(self, j: int) -> int:
        """Return where in the original the character before `j` (at least 1) of this view ends, its whole escape with it."""
        if self._pieces is not None:
            self._map()
        k = bisect_right(self._at, j - 1) - 1
        at = self._from[k] + (j - self._at[k]) * self._step[k]
        return at if self._base is None else self._base.end(at)

    def _map(self) -> None:
        pieces = self._pieces
        assert pieces is not None
        flat = array("Q", chain.from_iterable(pieces()))
        self._at, self._from, self._step = flat[0::3], flat[1::3], array("I", flat[2::3])
        self._pieces = None


def views(text: str, *, hot: bool) -> Iterator[View]:
    """
    Give the readings of a text besides the text itself, each one layer less disguised than the one before.

    Args:
        hot: The text as it stands holds a rule's literal. Then every layer counts; else only a text is read otherwise in which a
            literal itself may be hidden: escaped letters, codes inside words.

    At most 6 layers of encoding are taken off, and no more than 4 times the text (and 64 KB) is made.
    """
    if not hot and not hides(text):
        return
    room = 4 * len(text) + (64 << 10)
    left = dict.fromkeys(_LAYERS, _EACH)
    depth, view, last = 0, None, None
    while True:
        changed = False
        for layer in left:
            # What is clean of codes stays so until something is decoded.
            if left[layer] == 0 or layer is last is _terminal:
                continue
            made = layer(text, view)
            if made is None:
                continue
            room -= len(made.text)
            if room < 0 or not made.text:
                return
            yield made
            left[layer] -= 1
            changed, last, view, text = True, layer, made, made.text
            if layer is not _terminal:
                depth += 1
                if depth == _DEPTH:
                    made = _terminal(text, view)
                    if made is not None and made.text:
                        yield made
                    return
        if not changed:
            return


_DEPTH = 6


def _substituted(
    text: str, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str] | None, base: View | None
) -> View | None:
    """
    Return the view with every match replaced (without `decode`, taken out), or None where nothing changes.

    What is put for a match has one character for every so many of the match, all the same number.
    """
    made = pattern.sub("" if decode is None else decode, text)
    if made == text:
        return None

    def pieces() -> Pieces:
        at = here = 0
        for match in pattern.finditer(text):
            start, end = match.span()
            if here < start:
                yield at, here, 1
                at += start - here
            here = end
            if decode is not None:
                size = len(decode(match))
                yield at, start, (end - start) // size
                at += size
        yield at, here, 1

    return View(made, pieces, base)


# Escapes.

_SIMPLE = str.maketrans("nrtbfvae0", "\n\r\t\b\f\v\a\x1b\0")
_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_HEX = "[0-9A-Fa-f]"
_UNIT = f"u(?:[0-9A-CE-Fa-ce-f]{_HEX}{{3}}|[Dd][0-7]{_HEX}{{2}})"
_PAIR = rf"u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}"
# Each branch takes a run of escapes of one length, so that long runs cost little.
_ESCAPES = re.compile(
    rf"\\(?:{_PUNCTUATION}(?:\\{_PUNCTUATION})*"
    r"|(?:[nrtbfvae]|0(?![0-7]))(?:\\(?:[nrtbfvae]|0(?![0-7])))*"
    rf"|{_UNIT}(?:\\{_UNIT})*|{_PAIR}(?:\\{_PAIR})*|u[Dd]{_HEX}{{3}}"
    rf"|x{_HEX}{{2}}(?:\\x{_HEX}{{2}})*"
    r"|[01][0-7]{2}(?:\\[01][0-7]{2})*"
    rf"|u\{{{_HEX}{{1,6}}\}}|U00(?:0{_HEX}|10){_HEX}{{4}})"
)


def _unescaped(match: re.Match[str]) -> str:
    found = match[0]
    kind = found[1]
    if not kind.isalnum():
        return found[1::2]
    if kind == "u" and found[2] != "{":
        return bytes.fromhex(found.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
    if kind == "x":
        return bytes.fromhex(found.replace("\\x", "")).decode("latin-1")
    if kind in "uU":
        number = int(found[2:].strip("{}"), 16)
        return chr(number) if number <= 0x10FFFF else found
    if kind in "01" and len(found) > 2 and found[2] in "01234567":
        return "".join([chr(int(code, 8)) for code in found[1:].split("\\")])
    return found[1::2].translate(_SIMPLE)


def _escapes(text: str, base: View | None) -> View | None:
    return _substituted(text, _ESCAPES, _unescaped, base) if "\\" in text else None


# Percent-encoding.

_PERCENTS = re.compile(
    r"%(?:[0-7][0-9A-Fa-f](?:%[0-7][0-9A-Fa-f])*"
    r"|(?:[Cc][2-9A-Fa-f]|[Dd][0-9A-Fa-f])%[89ABab][0-9A-Fa-f]"
    r"|[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}"
    r"|[Ff][0-4](?:%[89ABab][0-9A-Fa-f]){3})"
)


def _unquoted(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return match[0]


def _percent(text: str, base: View | None) -> View | None:
    return _substituted(text, _PERCENTS, _unquoted, base) if "%" in text else None


# Character references.

_NAMES = {
    "quot": '"', "QUOT": '"', "amp": "&", "AMP": "&", "lt": "<", "LT": "<", "gt": ">", "GT": ">", "apos": "'", "nbsp": " ",
    "equals": "=", "colon": ":", "semi": ";", "comma": ",", "period": ".", "sol": "/", "bsol": "\\", "lowbar": "_",
    "UnderBar": "_", "hyphen": "-", "dash": "-", "minus": "-", "commat": "@", "num": "#", "plus": "+", "ast": "*", "midast": "*",
    "percnt": "%", "dollar": "$", "excl": "!", "quest": "?", "lpar": "(", "rpar": ")", "lsqb": "[", "lbrack": "[", "rsqb": "]",
    "rbrack": "]", "lcub": "{", "lbrace": "{", "rcub": "}", "rbrace": "}", "verbar": "|", "vert": "|",
    "VerticalLine": "|", "grave": "`", "Hat": "^", "tilde": "~", "Tab": "\t", "NewLine": "\n", "ensp": " ", "emsp": " ",
    "thinsp": " ", "shy": "\xad", "zwj": "\u200d", "zwnj": "\u200c", "lrm": "\u200e", "rlm": "\u200f", "NoBreak": "\u2060",
    "ZeroWidthSpace": "\u200b",
}  # fmt: skip
_NAMED = "|".join(sorted(_NAMES, key=len, reverse=True))
_REFERENCE = f"(?:#[0-9]{{1,7}};?|#[xX]{_HEX}{{1,6}};?|(?:{_NAMED});)"
_REFERENCES = re.compile(rf"(&{_REFERENCE})\1*")


def _resolved(match: re.Match[str]) -> str:
    one = match[1]
    name = one[1:].rstrip(";")
    if name[0] == "#":
        number = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
        if not 0 < number <= 0x10FFFF:
            return match[0]
        return chr(number) * (len(match[0]) // len(one))
    return _NAMES[name] * (len(match[0]) // len(one))


def _html(text: str, base: View | None) -> View | None:
    return _substituted(text, _REFERENCES, _resolved, base) if "&" in text else None


# Terminals, and overstriking.

_RETURNS = re.compile(" ?\r(?!\n)")
_STRIKES = re.compile("(?:[^\b\n]\b)+\b*|\b+")


def _terminal(text: str, base: View | None) -> View | None:
    view = None
    if coded(text):
        view = _substituted(text, CODES, None, base)
        if view is not None:
            text, base = view.text, view
    if text.count("\r") != text.count("\r\n"):
        made = _substituted(text, _RETURNS, None, base)
        if made is not None:
            text, base, view = made.text, made, made
    if "\b" in text:
        view = _struck(text, base)
    return view


def _struck(text: str, base: View | None) -> View:
    """Return the view without what backspaces take back: as many characters before them on the line, or as there are."""
    kept: list[tuple[int, int]] = []
    here = 0
    for match in _STRIKES.finditer(text):
        start, end = match.span()
        if here < start:
            kept.append((here, start))
        here = end
        # Pairs of a character and its backspace are gone with the match; further backspaces take from what is kept.
        back = end - start if text[start] == "\b" else end - start - 2 * match[0].rstrip("\b").count("\b") - 2
        while back and kept:
            first, last = kept.pop()
            edge = max(text.rfind("\n", first, last) + 1, last - back, first)
            back -= last - edge
            if edge > first:
                kept.append((first, edge))
                if text[edge - 1] == "\n":
                    break
    kept.append((here, len(text)))

    def pieces() -> Pieces:
        at = end = 0
        for first, last in kept:
            # What was struck goes with the character that took its place: of a bold one it is the same.
            if end < first < last:
                yield at, end, first + 1 - end
                at, first = at + 1, first + 1
            if first < last:
                yield at, first, 1
                at += last - first
            end = last

    return View("".join([text[first:last] for first, last in kept]), pieces, base)


def sliced(text: str, kept: list[tuple[int, int]], base: View | None = None) -> View:
    """Return the view of these parts of a text, in order, without anything between them."""

    def pieces() -> Pieces:
        at = 0
        for start, end in kept:
            yield at, start, 1
            at += end - start

    return View("".join([text[start:end] for start, end in kept]), pieces, base)


_LAYERS = (_terminal, _escapes, _percent, _html)
_EACH = 4
"""How often a layer of one kind is taken off; another part of the text may have used one of them up."""

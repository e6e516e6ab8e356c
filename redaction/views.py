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
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

__all__ = ["STRIDE", "View", "around", "concealing", "disguised", "hides", "hides_in_codes", "views"]

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


# Terminals: control sequences (also as they are written in source code), overstriking, characters that show as nothing.

_CONTROL = "\x00-\x07\x0e-\x1f\x7f"
_INVISIBLE = (
    "\x80-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_WORD = r"A-Za-z0-9_\-"
_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_CSI = "[0-?]{0,64}[ -/]{0,8}[@-~]"
_STRING = "[^\x07\x1b\x9c\n]{0,2048}(?:\x07|\x1b\\\\|\x9c)"


# They begin with a set: such are searched for fast.
_REAL = (
    rf"(?<=\x1b)(?:\[{_CSI}|[\]PX^_]{_STRING}|[ -/]{{0,4}}[0-~]|)"
    rf"|(?<=\x9b){_CSI}|(?<=[\x90\x98\x9d-\x9f]){_STRING}"
)
_CODE = (
    rf"[{_CONTROL}{_INVISIBLE}\\^](?>{_REAL}"
    r"|(?<=\\)\\{0,8}(?:u001[bB]|x1[bB]|033|e)\[[0-9;:?]{0,64}[A-Za-z]"
    r"|(?<=\^)\[\[[0-9;?]{0,64}[A-Za-z]"
    r"|(?<![\\^]))"
)
_CODES = re.compile(f"(?:{_CODE})+")
_REAL_CODES = re.compile(f"(?:[{_CONTROL}{_INVISIBLE}](?>{_REAL}|))+")
"""The same where none of them is written out."""
_RETURNS = re.compile(" ?\r(?!\n)")
_RETURN_INSIDE = re.compile(rf"\r(?!\n)(?=[{_WORD}])(?:(?<=[{_WORD}]\r)|(?<=[{_WORD}] \r))")
# Every byte but control characters; to delete these is the quickest way to see whether others are there.
_ORDINARY = bytes(byte for byte in range(256) if byte in b"\t\n\v\f\r\x08" or 32 <= byte != 127)
_INVISIBLES = re.compile(f"[{_INVISIBLE}]")
# The same in UTF-8.
_INVISIBLE_BYTES = re.compile(
    rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|\xc2[\x80-\x84\x86-\x9f\xad]"
    rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb])|\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])"
    rb"|\xf3\xa0|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])|\xe3\x85\xa4|\xd8[\x80-\x85\x9c]|\xdb\x9d|\xdc\x8f"
    rb"|\xcd\x8f"
)


def _has_invisible(text: str) -> bool:
    """Return whether a character that shows as nothing is in a text."""
    return _INVISIBLE_BYTES.search(text.encode("utf-8", "surrogatepass")) is not None


def _invisible_behind(data: bytes) -> Iterator[int]:
    """Yield where characters that show as nothing stand behind a letter, a digit, or what may end a control sequence."""
    if not data.isascii():
        yield from (at for at in map(re.Match.start, _INVISIBLE_BYTES.finditer(data)) if at and data[at - 1] in _ENDS_A_CODE)


_ENDS_A_CODE = frozenset(b"-0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~")
_WRITTEN = re.compile(r"\\(?:u001[bB]|x1[bB]|033|e)\[[0-9;:?]{0,64}[A-Za-z]")
_STRIKES = re.compile("(?:[^\b\n]\b)+\b*|\b+")


def _coded(text: str) -> bool:
    """Return whether a text may hold control sequences or invisible characters."""
    return (
        bool(text.encode("utf-8", "surrogatepass").translate(None, _ORDINARY))
        or (not text.isascii() and _has_invisible(text))
        or ("\\" in text and _WRITTEN.search(text) is not None)
        or "^[[" in text
    )


def _terminal(text: str, base: View | None) -> View | None:
    view = None
    if _coded(text):
        view = _substituted(text, _CODES, None, base)
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


# What hides a literal: a letter, digit, dash, underscore, or what URLs and assignments are known by, in any of these codings.

_HIDDEN = "(?:2[BDEFbdef]|3[0-9ADad]|4[0-9A-Fa-f]|5[0-9Aa]|5[Ff]|6[1-9A-Fa-f]|7[0-9Aa])"
_HIDING = (
    rf"u00{_HIDDEN}|u0025{_HEX}|u0026[#a-zA-Z]|x{_HIDDEN}|[01][0-7]{{2}}|u\{{0{{0,4}}{_HIDDEN}\}}|U000000{_HIDDEN}"
    r"|_|/\\*/|u005[cC][ux]|x1[bB]\[|033\[|e\["
    rf"|u(?:200[B-Fb-f]|202[A-Ea-e]|206{_HEX}|[Ff][Ee][Ff]{{2}}|00[Aa][Dd])(?=[{_WORD}])"
)
_HIDING_ESCAPE = re.compile(rf"\\(?:{_HIDING})")
_HIDING_PERCENT = re.compile(rf"%(?:25)*(?:{_HIDDEN}|5[Cc][ux]|26(?:%23|#|amp))")
_HIDING_REFERENCE = re.compile(
    rf"&(?:amp;)*(?:#0*(?:4[35-9]|5[0-8]|6[14-9]|[78][0-9]|90|95|9[7-9]|1[01][0-9]|12[0-2])(?![0-9])|#[xX]0*{_HIDDEN}(?!{_HEX})"
    r"|lowbar;|UnderBar;|hyphen;|dash;|equals;|colon;|sol;|period;|commat;|shy;|zwj;|zwnj;|ZeroWidthSpace;|NoBreak;)"
)


def hides(text: str, *, serialised: bool = False) -> bool:
    """
    Return whether a text may hold a literal that only another reading shows.

    Args:
        serialised: The text is JSON, in whose strings control characters are written as escapes.
    """
    if (
        ("\\" in text and (_SERIALISED_ESCAPE if serialised else _HIDING_ESCAPE).search(text) is not None)
        or ("%" in text and _HIDING_PERCENT.search(text) is not None)
        or ("&" in text and _HIDING_REFERENCE.search(text) is not None)
    ):
        return True
    if serialised:
        return ((not text.isascii() and _has_invisible(text)) or "\x7f" in text or "^[[" in text) and _inside(text)
    return hides_in_codes(text)


def hides_in_codes(text: str) -> bool:
    """Return whether a text may hold a literal with control characters in it, or under them."""
    return (
        "\b" in text
        or "\\u001b[" in text
        or ("\r" in text and _RETURN_INSIDE.search(text) is not None)
        or (_coded(text) and _inside(text))
    )


def concealing(texts: Sequence[str], encoded: Sequence[bytes], joined: bytes, ends: Sequence[int]) -> set[int]:
    """
    Return which of some texts hide something, each as it is or as if it were JSON.

    Args:
        encoded: The same in UTF-8.
        joined: The same, with something between each two.
        ends: Where in `joined` the next one begins.
    """
    found: set[int] = set()
    for sign, pattern in _HIDING_IN_BYTES:
        at = 0
        while sign in joined and (match := pattern.search(joined, at)):
            number = bisect_right(ends, match.start())
            found.add(number)
            at = ends[number]
    # Those that control characters stand in, or characters that show as nothing behind a letter.
    told = {b"\r", b"^[[", *(bytes([code]) for code in joined.translate(None, _PRINTABLE))}
    odd = set(chain.from_iterable(_found_in(joined, sign, ends) for sign in told))
    if not joined.isascii():
        odd.update(number for number, data in enumerate(encoded) if next(_invisible_behind(data), None) is not None)
    for number in odd - found:
        if _conceals_in_codes(texts[number], encoded[number]):
            found.add(number)
    return found


def _found_in(joined: bytes, sign: bytes, ends: Sequence[int]) -> Iterator[int]:
    """Yield in which of some texts a sign stands."""
    at = joined.find(sign)
    while at >= 0:
        number = bisect_right(ends, at)
        yield number
        at = joined.find(sign, ends[number])


def _conceals_in_codes(text: str, data: bytes) -> bool:
    if b"\r" in data or data.translate(None, _PRINTABLE):
        return hides_in_codes(text)
    return _inside(text)


def around(places: list[int], size: int, *, before: int, after: int) -> list[tuple[int, int]]:
    """Return the parts of a text of a size around places, with so much before and after each; those that touch are made one."""
    out: list[tuple[int, int]] = []
    for at in sorted(places):
        start, end = max(0, at - before), min(size, at + after)
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


STRIDE = 1024
"""Of what stands within so many characters, `disguised` tells one place: there may be more behind it."""


def disguised(text: str) -> list[int]:
    """Return where in a text something stands that may hide a literal near it, as `hides` asks for: a place in each `STRIDE`."""
    places: list[int] = []
    for sign, pattern in (("\\", _HIDING_ESCAPE), ("%", _HIDING_PERCENT), ("&", _HIDING_REFERENCE), ("\r", _RETURN_INSIDE)):
        if sign in text:
            places += _apart(pattern, text)
    for sign in ("\b", "\\u001b["):
        at = text.find(sign)
        while at >= 0:
            places.append(at)
            at = text.find(sign, at + STRIDE)
    if _coded(text):
        places += _places_inside(text)
    return places


def _apart(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    match = pattern.search(text)
    while match is not None:
        yield match.start()
        match = pattern.search(text, match.start() + STRIDE)


_COLOUR_INSIDE = re.compile(
    rf"\x1b\[(?<=[{_WORD}]\x1b\[)[0-9;:?]{{0,64}}[A-Za-z](?:\x1b\[[0-9;:?]{{0,64}}[A-Za-z]){{0,16}}(?=[{_WORD}])"
)


def _places_inside(text: str) -> Iterator[int]:
    """Yield where codes stand within a word, a place in each `STRIDE`."""
    data = text.encode("utf-8", "surrogatepass")
    written = ("\\" in text and _WRITTEN.search(text) is not None) or "^[[" in text
    is_plain = data.count(b"\x1b") == data.count(b"\x1b[") and not data.translate(None, _BUT_COLOURS)
    if is_plain and not written and next(_invisible_behind(data), None) is None:
        # Colours alone, as in most outputs.
        yield from _apart(_COLOUR_INSIDE, text)
        return
    codes = _CODES if written else _REAL_CODES
    match = codes.search(text)
    while match is not None:
        start, end = match.span()
        is_inside = start and text[start - 1] in _WORDS and text[end : end + 1] in _WORDS
        if is_inside:
            yield start
        match = codes.search(text, start + STRIDE if is_inside else end)


def _inside(text: str) -> bool:
    """Return whether codes stand within a word."""
    return next(_places_inside(text), None) is not None


# In JSON a control character is an escape; where one stands between two characters of a word, that word may be a literal. A
# control code that is written out has two backslashes there; a tag, which nobody sees, is two halves.
_SERIALISED_ESCAPE = re.compile(
    rf"\\(?:{_HIDING}"
    r"|u00(?:[01][0-9A-Fa-f]|7[fF])(?<=[A-Za-z0-9_\-]\\u00..)(?<!\\[nrtbf]\\u00..)"
    r"(?:\[[0-9;:?]{0,64}[A-Za-z]|\([0-9A-Z]|\][^\\\"]{0,512}\\u00(?:07|1[bB]\\\\|9[cC]))?(?=[A-Za-z0-9_\-]|\\u00)"
    r"|b(?<!\\\\b)"
    r"|r(?<=[A-Za-z0-9_\-]\\r)(?<!\\\\r)(?=[A-Za-z0-9_\-])"
    r"|\\(?:u001[bB]|x1[bB]|033|e)\[[0-9;:?]{0,64}[A-Za-z](?=[A-Za-z0-9_\-])"
    r"|u[dD][bB]4[0-3]\\u[dD])"
)
_HIDING_IN_BYTES = tuple(
    (sign, re.compile(pattern.pattern.encode()))
    for sign, pattern in ((b"\\", _SERIALISED_ESCAPE), (b"%", _HIDING_PERCENT), (b"&", _HIDING_REFERENCE))
)
_BUT_COLOURS = bytes(byte for byte in range(256) if byte in b"\t\n\r\x1b" or 32 <= byte != 127)
_PRINTABLE = bytes(byte for byte in range(256) if byte in b"\t\n\r" or 32 <= byte != 127)

"""
Codes: control sequences of terminals, also as they are written in source code, and characters that show as nothing.

A secret may have them in its midst. Here is where they stand; what a text says without them is a view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = [
    "CODES",
    "PRINTABLE",
    "RETURN_INSIDE",
    "STRIDE",
    "WORD",
    "apart",
    "coded",
    "conceals_in_codes",
    "has_invisible",
    "hides_in_codes",
    "invisible_behind",
    "is_inside",
    "places_inside",
]

_CONTROL = "\x00-\x07\x0e-\x1f\x7f"
_INVISIBLE = (
    "\x80-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
WORD = r"A-Za-z0-9_\-"
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
CODES = re.compile(f"(?:{_CODE})+")
_REAL_CODES = re.compile(f"(?:[{_CONTROL}{_INVISIBLE}](?>{_REAL}|))+")
"""The same where none of them is written out."""
RETURN_INSIDE = re.compile(rf"\r(?!\n)(?=[{WORD}])(?:(?<=[{WORD}]\r)|(?<=[{WORD}] \r))")
# Every byte but control characters; to delete these is the quickest way to see whether others are there.
_ORDINARY = bytes(byte for byte in range(256) if byte in b"\t\n\v\f\r\x08" or 32 <= byte != 127)
# Characters that show as nothing, in UTF-8.
_INVISIBLE_BYTES = re.compile(
    rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|\xc2[\x80-\x84\x86-\x9f\xad]"
    rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb])|\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])"
    rb"|\xf3\xa0|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])|\xe3\x85\xa4|\xd8[\x80-\x85\x9c]|\xdb\x9d|\xdc\x8f"
    rb"|\xcd\x8f"
)


def has_invisible(text: str) -> bool:
    """Return whether a character that shows as nothing is in a text."""
    return _INVISIBLE_BYTES.search(text.encode("utf-8", "surrogatepass")) is not None


def invisible_behind(data: bytes) -> Iterator[int]:
    """Yield where characters that show as nothing stand behind a letter, a digit, or what may end a control sequence."""
    if not data.isascii():
        yield from (at for at in map(re.Match.start, _INVISIBLE_BYTES.finditer(data)) if at and data[at - 1] in _ENDS_A_CODE)


_ENDS_A_CODE = frozenset(b"-0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~")
_WRITTEN = re.compile(r"\\(?:u001[bB]|x1[bB]|033|e)\[[0-9;:?]{0,64}[A-Za-z]")
STRIDE = 1024
"""Of what stands within so many characters, `disguised` tells one place: there may be more behind it."""


_BUT_COLOURS = bytes(byte for byte in range(256) if byte in b"\t\n\r\x1b" or 32 <= byte != 127)
PRINTABLE = bytes(byte for byte in range(256) if byte in b"\t\n\r" or 32 <= byte != 127)


def coded(text: str) -> bool:
    """Return whether a text may hold control sequences or invisible characters."""
    return (
        bool(text.encode("utf-8", "surrogatepass").translate(None, _ORDINARY))
        or (not text.isascii() and has_invisible(text))
        or ("\\" in text and _WRITTEN.search(text) is not None)
        or "^[[" in text
    )


def hides_in_codes(text: str) -> bool:
    """Return whether a text may hold a literal with control characters in it, or under them."""
    return (
        "\b" in text
        or "\\u001b[" in text
        or ("\r" in text and RETURN_INSIDE.search(text) is not None)
        or (coded(text) and is_inside(text))
    )


def conceals_in_codes(text: str, data: bytes) -> bool:
    """Return what `hides_in_codes` does of a text that has codes in it, or their signs; `data` is the same in UTF-8."""
    if b"\r" in data or data.translate(None, PRINTABLE):
        return hides_in_codes(text)
    return is_inside(text)


def apart(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Yield where a pattern matches, a place in each `STRIDE`."""
    match = pattern.search(text)
    while match is not None:
        yield match.start()
        match = pattern.search(text, match.start() + STRIDE)


_COLOUR_INSIDE = re.compile(
    rf"\x1b\[(?<=[{WORD}]\x1b\[)[0-9;:?]{{0,64}}[A-Za-z](?:\x1b\[[0-9;:?]{{0,64}}[A-Za-z]){{0,16}}(?=[{WORD}])"
)


def places_inside(text: str) -> Iterator[int]:
    """Yield where codes stand within a word, a place in each `STRIDE`."""
    data = text.encode("utf-8", "surrogatepass")
    written = ("\\" in text and _WRITTEN.search(text) is not None) or "^[[" in text
    is_plain = data.count(b"\x1b") == data.count(b"\x1b[") and not data.translate(None, _BUT_COLOURS)
    if is_plain and not written and next(invisible_behind(data), None) is None:
        # Colours alone, as in most outputs.
        yield from apart(_COLOUR_INSIDE, text)
        return
    codes = CODES if written else _REAL_CODES
    match = codes.search(text)
    while match is not None:
        start, end = match.span()
        is_inside = start and text[start - 1] in _WORDS and text[end : end + 1] in _WORDS
        if is_inside:
            yield start
        match = codes.search(text, start + STRIDE if is_inside else end)


def is_inside(text: str) -> bool:
    """Return whether codes stand within a word."""
    return next(places_inside(text), None) is not None

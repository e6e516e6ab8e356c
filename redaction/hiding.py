"""
What hides a literal: texts in which something may stand that only another reading shows, and where.

To see that nothing is hidden is what nearly all texts take; so it has to be quick.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from satchel.redaction.codes import (
    PRINTABLE,
    RETURN_INSIDE,
    STRIDE,
    WORD,
    apart,
    coded,
    conceals_in_codes,
    has_invisible,
    hides_in_codes,
    invisible_behind,
    is_inside,
    places_inside,
)

__all__ = ["STRIDE", "around", "concealing", "disguised", "hides", "hides_in_codes"]

_HEX = "[0-9A-Fa-f]"
# A letter, digit, dash, underscore, or what URLs and assignments are known by, in any of these codings.
_HIDDEN = "(?:2[BDEFbdef]|3[0-9ADad]|4[0-9A-Fa-f]|5[0-9Aa]|5[Ff]|6[1-9A-Fa-f]|7[0-9Aa])"
_HIDING = (
    rf"u00{_HIDDEN}|u0025{_HEX}|u0026[#a-zA-Z]|x{_HIDDEN}|[01][0-7]{{2}}|u\{{0{{0,4}}{_HIDDEN}\}}|U000000{_HIDDEN}"
    r"|_|/\\*/|u005[cC][ux]|x1[bB]\[|033\[|e\["
    rf"|u(?:200[B-Fb-f]|202[A-Ea-e]|206{_HEX}|[Ff][Ee][Ff]{{2}}|00[Aa][Dd])(?=[{WORD}])"
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
        return ((not text.isascii() and has_invisible(text)) or "\x7f" in text or "^[[" in text) and is_inside(text)
    return hides_in_codes(text)


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
    told = {b"\r", b"^[[", *(bytes([code]) for code in joined.translate(None, PRINTABLE))}
    odd = set(chain.from_iterable(_found_in(joined, sign, ends) for sign in told))
    if not joined.isascii():
        odd.update(number for number, data in enumerate(encoded) if next(invisible_behind(data), None) is not None)
    for number in odd - found:
        if conceals_in_codes(texts[number], encoded[number]):
            found.add(number)
    return found


def _found_in(joined: bytes, sign: bytes, ends: Sequence[int]) -> Iterator[int]:
    """Yield in which of some texts a sign stands."""
    at = joined.find(sign)
    while at >= 0:
        number = bisect_right(ends, at)
        yield number
        at = joined.find(sign, ends[number])


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


def disguised(text: str) -> list[int]:
    """Return where in a text something stands that may hide a literal near it, as `hides` asks for: a place in each `STRIDE`."""
    places: list[int] = []
    for sign, pattern in (("\\", _HIDING_ESCAPE), ("%", _HIDING_PERCENT), ("&", _HIDING_REFERENCE), ("\r", RETURN_INSIDE)):
        if sign in text:
            places += apart(pattern, text)
    for sign in ("\b", "\\u001b["):
        at = text.find(sign)
        while at >= 0:
            places.append(at)
            at = text.find(sign, at + STRIDE)
    if coded(text):
        places += places_inside(text)
    return places


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

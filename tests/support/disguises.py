"""Disguises: how texts with a secret in them come to hold it in another form."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple
from urllib.parse import quote

__all__ = [
    "Disguised",
    "base64_lines",
    "continued",
    "escaped",
    "listed",
    "percent",
    "plain",
    "references",
    "scattered",
    "token",
    "unicode_escaped",
    "wrapped",
]

_ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Disguised(NamedTuple):
    """A text in three parts: the one in the middle is the secret's, and all that has to go."""

    head: str
    secret: str
    tail: str

    @property
    def text(self) -> str:
        return self.head + self.secret + self.tail

    @property
    def span(self) -> tuple[int, int]:
        return len(self.head), len(self.head) + len(self.secret)

    def each(self, change: Callable[[str], str]) -> Disguised:
        return Disguised(change(self.head), change(self.secret), change(self.tail))


def token(seed: int, *, head: str = "ghp_", length: int = 36, alphabet: str = _ALNUM) -> str:
    """Return a secret as its issuer makes it: a known beginning and random characters."""
    random = Random(seed)
    return head + "".join(random.choice(alphabet) for _ in range(length))


def plain(head: str, secret: str, tail: str) -> Disguised:
    return Disguised(head, secret, tail)


def escaped(text: Disguised, times: int = 1, *, ascii_only: bool = True, slashes: bool = False) -> Disguised:
    """Write it as the inside of a JSON string, and that again."""

    def once(part: str) -> str:
        form = json.dumps(part, ensure_ascii=ascii_only)[1:-1]
        return form.replace("/", "\\/") if slashes else form

    for _ in range(times):
        text = text.each(once)
    return text


def unicode_escaped(text: Disguised, *, form: str = "\\u{:04x}", every: int = 1) -> Disguised:
    """Write every so many-th character of the secret by its number, in what is a JSON string otherwise."""
    secret = "".join(
        form.format(ord(char)) if at % every == 0 and char.isascii() else _inner(char) for at, char in enumerate(text.secret)
    )
    return Disguised(_inner(text.head), secret, _inner(text.tail))


def _inner(text: str) -> str:
    return json.dumps(text)[1:-1]


def percent(text: Disguised, times: int = 1, *, whole: bool = False, lower: bool = False) -> Disguised:
    """Write it as in a URL; `whole` writes every character of it as a number."""

    def once(part: str) -> str:
        if whole:
            return "".join(f"%{byte:02x}" if lower else f"%{byte:02X}" for byte in part.encode())
        return quote(part, safe="/")

    for _ in range(times):
        text = text.each(once)
    return text


def references(text: Disguised, *, form: str = "&#{};", every: int = 1) -> Disguised:
    """Write every so many-th character of the secret (0: none) as a character reference, in what is HTML otherwise."""
    secret = "".join(
        form.format(ord(char)) if every and at % every == 0 else html.escape(char) for at, char in enumerate(text.secret)
    )
    return Disguised(html.escape(text.head), secret, html.escape(text.tail))


def scattered(text: Disguised, codes: Sequence[str], places: Sequence[int]) -> Disguised:
    """Put codes that show as nothing into the secret, and one before and one behind it."""
    secret = text.secret
    for number, place in enumerate(sorted({1 + place % (len(secret) - 1) for place in places}, reverse=True)):
        secret = secret[:place] + codes[number % len(codes)] + secret[place:]
    return Disguised(text.head + codes[0], secret, codes[-1] + text.tail)


def wrapped(text: Disguised, width: int, *, gutter: str = "", end: str = "\n", border: str = "") -> Disguised:
    """Break the line at a width, as a terminal does; each part stands behind the gutter, and before the border of a box."""
    parts = ["", "", ""]
    here = 0
    for number, part in enumerate(text):
        for char in part:
            if here % width == 0:
                # What is put between two characters of the secret is within it, else outside.
                inside = 1 if number == 1 and parts[1] else 0 if number < 2 else 2
                parts[inside] += (border + end if here else "") + gutter
            parts[number] += char
            here += 1
    if border:
        parts[2] += " " * (-here % width) + border + end
    return Disguised(*parts)


def continued(text: Disguised, place: int, *, mark: str = "\\\n") -> Disguised:
    """Break the secret with a mark of continuation: a shell's backslash, a soft line break, a string's end and beginning."""
    at = 1 + place % (len(text.secret) - 1)
    return text._replace(secret=text.secret[:at] + mark + text.secret[at:])


def listed(lines: Sequence[str], gutter: Callable[[int], str], *, first: int = 1) -> str:
    """Put the gutter of its number before each line."""
    return "".join(f"{gutter(number)}{line}\n" for number, line in enumerate(lines, first))


def base64_lines(encoded: str, width: int, *, end: str = "\n") -> str:
    """Break base64 into lines, as mail and PEM have it."""
    return end.join(encoded[at : at + width] for at in range(0, len(encoded), width)) if width else encoded

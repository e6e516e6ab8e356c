"""
Fake secrets, made when a test runs: text that looks like a credential must not lie in a file of the repository.

A template is text with fields such as `{an:36}`; `{{` and `}}` are braces. A field is a kind and, for most, a number of
characters. The same seed fills the same template in the same way.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import uuid
import zlib
from collections.abc import Callable
from importlib import resources

LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
DIGITS = "0123456789"
LETTERS = {
    "an": UPPER + LOWER + DIGITS,
    "b32": UPPER + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "b64": UPPER + LOWER + DIGITS + "+/",
    "b64u": UPPER + LOWER + DIGITS + "-_",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "d": DIGITS,
    "hex": DIGITS + "abcdef",
    "HEX": DIGITS + "ABCDEF",
    "l": LOWER,
    "ln": LOWER + DIGITS,
    "mixed": UPPER + LOWER,
    "un": UPPER + DIGITS,
}
_FIELD = re.compile(r"\{\{|\}\}|\{(\w+)(?::([^{}]*))?\}")


class Fakes:
    """Fills templates from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._kinds: dict[str, Callable[[str], str]] = {
            "basic": lambda _: _base64(f"deploy:{self.text('an', 18)}".encode()),
            "b64pem": lambda label: _base64(self._pem(label).encode()),
            "bytes": lambda count: "[" + ",".join(str(self._random.randrange(256)) for _ in range(int(count))) + "]",
            "crc": lambda _: self._with_crc(),
            "discord": lambda _: self._discord(),
            "jwt": lambda _: self._jwt(),
            "pem": self._pem,
            "pgp": lambda _: self._pgp(),
            "seed": lambda count: self._seed_phrase(int(count)),
            "uuid": lambda _: str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
            "wif": lambda _: _base58check(b"\x80" + self._random.randbytes(32) + b"\x01"),
        }

    def fill(self, template: str) -> str:
        """Return the template with its fields filled."""

        def one(match: re.Match[str]) -> str:
            if match.group() in ("{{", "}}"):
                return match.group()[0]
            kind, size = match.group(1), match.group(2) or ""
            return self.text(kind, int(size)) if kind in LETTERS else self._kinds[kind](size)

        return _FIELD.sub(one, template)

    def text(self, kind: str, size: int) -> str:
        """Return random characters of a kind: digits and letters both, where the kind has both and there is room for them."""
        alphabet = LETTERS[kind]
        while True:
            text = "".join(self._random.choice(alphabet) for _ in range(size))
            if size < 6 or not (set(alphabet) & set(DIGITS) and set(alphabet) - set(DIGITS)):
                return text
            # It begins and ends as a token does that stands alone.
            if any(c in DIGITS for c in text) and any(c.isalpha() for c in text) and text[0].isalnum() and text[-1].isalnum():
                return text

    def _pem(self, label: str) -> str:
        body = _base64(self._random.randbytes(400))
        lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"

    def _pgp(self) -> str:
        body = _base64(self._random.randbytes(400))
        lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
        kind = "PGP PRIVATE KEY BLOCK"
        return f"-----BEGIN {kind}-----\nVersion: GnuPG v2\n\n{lines}\n={self.text('an', 4)}\n-----END {kind}-----\n"

    def _jwt(self) -> str:
        head = _base64url(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
        claims = _base64url(json.dumps({"sub": self.text("an", 20), "iat": 1700000000}).encode())
        return f"{head}.{claims}.{_base64url(self._random.randbytes(32))}"

    def _discord(self) -> str:
        number = str(self._random.randrange(10**17, 10**18))
        return f"{_base64url(number.encode())}.G{self.text('an', 5)}.{self.text('an', 38)}"

    def _with_crc(self) -> str:
        body = self.text("an", 30)
        number, digits = zlib.crc32(body.encode()), ""
        while number:
            number, digit = divmod(number, 62)
            digits = (DIGITS + UPPER + LOWER)[digit] + digits
        return body + digits.rjust(6, "0")

    def _seed_phrase(self, count: int) -> str:
        words = resources.files("satchel.redaction").joinpath("bip39.txt").read_text("ascii").split()
        data = self._random.randbytes(count * 4 // 3)
        check = count // 3
        bits = int.from_bytes(data, "big") << check | hashlib.sha256(data).digest()[0] >> (8 - check)
        return " ".join(words[bits >> 11 * (count - 1 - n) & 2047] for n in range(count))


def filled(template: str, *, seed: str = "") -> str:
    """Return a template filled; the seed is the template itself and, if given, another word."""
    return Fakes(f"{template}/{seed}").fill(template)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _base58check(data: bytes) -> str:
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = LETTERS["b58"][digit] + text
    return text

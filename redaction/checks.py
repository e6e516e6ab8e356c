"""
Tests of a value that a pattern found: is it a secret, or does it only look like one?

Each check takes the value (a str) and says whether it may stay in the running. Rules name them: "entropy:3.0", "digit". A check
never raises for any text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from math import log2

from satchel.errors import UsageError

__all__ = ["CHECKS", "Check", "check", "entropy", "is_placeholder"]

Check = Callable[[str], bool]


def entropy(text: str) -> float:
    """Return Shannon's entropy of a text's characters, in bits a character."""
    if not text:
        return 0.0
    size = len(text)
    return -sum(n / size * log2(n / size) for n in Counter(text).values())


_STANDS_FOR = re.compile(
    r"""(?ix)
      ^ (?: \W* $ | (.) \1* $ )                                                  # nothing, one character over and over
    | x{4,} | \*{3,} | \.{3,} | … | •{3,}
    | ^ [<\[{(%] .* [>\]})%] $ | \$\{ | ^ \$ \(? \w | \{\{ | ^ %\w+% $            # stands for another value
    | (?<![a-z]) (?: your | my | insert | enter | replace | change | fill | put | add | the | some | any | paste ) [-_. ]? (?: \w+ [-_. ] )* (?: key | token | secret | pass\w* | here | me | this | value | it | api )
    | change[-_]?me | place[-_]?holder | redacted | example | dummy | sample | not[-_]?a[-_]?real | insert[-_] | todo | fixme
    | 0123456789 | 1234567890 | abcdefgh | deadbeef | qwerty
    """
)


def is_placeholder(text: str) -> bool:
    """Return whether a value stands for a secret instead of being one: `<your-key>`, `changeme`, `${TOKEN}`, `xxxxxxxx`."""
    return _STANDS_FOR.search(text) is not None


def _digit(text: str) -> bool:
    return any("0" <= c <= "9" for c in text)


def _mixed(text: str) -> bool:
    return any(c.islower() for c in text) and any(c.isupper() for c in text)


CHECKS: dict[str, Callable[[str], Check]] = {
    "digit": lambda _: _digit,
    "mixed": lambda _: _mixed,
    "entropy": lambda least: lambda text: entropy(text) >= float(least),
    "real": lambda _: lambda text: not is_placeholder(text),
}
"""By name; each takes what stands behind the colon and returns the check."""


def check(name: str) -> Check:
    """
    Return the check of a name such as "digit" or "entropy:3.0".

    Raises:
        UsageError: There is none of that name.
    """
    head, _, rest = name.partition(":")
    if head not in CHECKS:
        raise UsageError(f"there is no check {head!r}; there are: {', '.join(sorted(CHECKS))}", subject=name)
    return CHECKS[head](rest)

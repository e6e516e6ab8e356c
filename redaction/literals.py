"""
Finds many literals at once: with ahocorasick-rs where it is installed, else one after the other; what is found is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import AnyStr

__all__ = ["Hits", "finder"]

_HALVES = re.compile("[\ud800-\udfff]")

Hits = dict[int, list[int]]
"""Where each literal that occurs starts, by its number: positions in rising order."""


def finder(literals: Sequence[AnyStr], *, native: bool = True) -> Callable[[AnyStr], Hits]:
    """
    Return a function that finds every occurrence of every literal, those that overlap too, in text of the literals' own type.

    Args:
        native: Use the compiled library where there is one.
    """
    if native and literals:
        try:
            import ahocorasick_rs as library
        except ImportError:
            pass
        else:
            kind = library.BytesAhoCorasick if isinstance(literals[0], bytes) else library.AhoCorasick
            find = kind(literals, implementation=library.Implementation.DFA).find_matches_as_indexes

            def scan(text: AnyStr) -> Hits:
                hits: Hits = {}
                try:
                    found = find(text, overlapping=True)
                except UnicodeEncodeError:
                    # The library has no form for half a surrogate pair; no literal has one.
                    found = find(_HALVES.sub("\ufffd", text), overlapping=True)
                for number, start, _ in found:
                    if number in hits:
                        hits[number].append(start)
                    else:
                        hits[number] = [start]
                return hits

            return scan
    return _plain(list(literals))


def _plain(literals: list[AnyStr]) -> Callable[[AnyStr], Hits]:
    def scan(text: AnyStr) -> Hits:
        hits: Hits = {}
        find = text.find
        for number, literal in enumerate(literals):
            at = find(literal)
            if at >= 0:
                found = hits[number] = []
                while at >= 0:
                    found.append(at)
                    at = find(literal, at + 1)
        return hits

    return scan

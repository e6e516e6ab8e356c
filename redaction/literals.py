"""
Finds many literals at once: with ahocorasick-rs where it is installed, else with one pattern of all; what is found is the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, AnyStr

__all__ = ["Hits", "finder"]

Hits = dict[int, list[int]]
"""Where each literal that occurs starts, by its number: positions in rising order."""

_HALVES = re.compile("[\ud800-\udfff]")


def finder(literals: Sequence[AnyStr], *, native: bool = True, brief: bool = False) -> Callable[[AnyStr], Hits]:
    """
    Return a function that finds every occurrence of every literal, those that overlap too, in text of the literals' own type.

    Args:
        native: Use the compiled library where there is one.
        brief: The function is used for a few texts only: it is made in less time, and works more slowly.
    """
    if not literals:
        return lambda text: {}
    if native:
        try:
            import ahocorasick_rs as library
        except ImportError:
            pass
        else:
            kind: Any = library.BytesAhoCorasick if isinstance(literals[0], bytes) else library.AhoCorasick
            how = library.Implementation.ContiguousNFA if brief else library.Implementation.DFA
            find = kind(literals, implementation=how).find_matches_as_indexes

            def scan(text: AnyStr) -> Hits:
                hits: Hits = defaultdict(list)
                given: Any = text
                try:
                    found = find(given, overlapping=True)
                except UnicodeEncodeError:
                    # The library has no form for half a surrogate pair; no literal has one.
                    found = find(_HALVES.sub("\ufffd", given), overlapping=True)
                for number, start, _ in found:
                    hits[number].append(start)
                return hits

            return scan
    return _plain(literals)


def _plain(literals: Sequence[AnyStr]) -> Callable[[AnyStr], Hits]:
    numbers = {literal: number for number, literal in enumerate(literals)}
    # At each place the pattern tells the longest literal; the others that start there are what that one begins with.
    shorter = {
        literal: [numbers[literal[:size]] for size in range(1, len(literal) + 1) if literal[:size] in numbers]
        for literal in literals
    }
    tree: dict[str, Any] = {}
    for literal in literals:
        node = tree
        for char in literal.decode("latin-1") if isinstance(literal, bytes) else literal:
            node = node.setdefault(char, {})
        node[""] = {}
    source = f"(?=({_alternatives(tree)}))"
    pattern: Any = source.encode("latin-1") if isinstance(literals[0], bytes) else source
    find: Callable[[AnyStr], Iterator[re.Match[AnyStr]]] = re.compile(pattern).finditer

    def scan(text: AnyStr) -> Hits:
        hits: Hits = defaultdict(list)
        for match in find(text):
            start = match.start()
            for number in shorter[match[1]]:
                hits[number].append(start)
        return hits

    return scan


def _alternatives(tree: dict[str, Any]) -> str:
    """Return the pattern of the longest of the literals that a tree of characters holds."""
    chars: dict[str, list[str]] = {}
    for char, below in tree.items():
        if char:
            chars.setdefault(_alternatives(below), []).append(re.escape(char))
    parts = [(same[0] if len(same) == 1 else f"[{''.join(same)}]") + rest for rest, same in chars.items()]
    if not parts:
        return ""
    pattern = parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
    return f"(?:{pattern})?" if "" in tree else pattern

"""Edits as the lines that go and the lines that come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.formats.html.escape import plain, text_html

__all__ = ["diff_html", "edits_of", "looks_like_diff"]

_KINDS = {"+": "ins", "-": "del"}
_PAIRS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text"))


def edits_of(arguments: Any) -> tuple[list[tuple[str, str]], set[str]]:
    """Return the edits that a call's arguments ask for, each as the old text and the new one, and which arguments those are."""
    if not isinstance(arguments, Mapping):
        return [], set()
    for old, new in _PAIRS:
        if isinstance(arguments.get(old), str) and isinstance(arguments.get(new), str):
            return [(arguments[old], arguments[new])], {old, new}
    several = arguments.get("edits")
    if isinstance(several, list) and several:
        found = [edit for one in several for edit in edits_of(one)[0]]
        if len(found) == len(several) and all(len(one) == 2 for one in several):
            return found, {"edits"}
    return [], set()


def diff_html(old: str, new: str) -> str:
    """Return an edit: what both texts begin and end with, and between them what goes and what comes."""
    one, other = plain(old).split("\n"), plain(new).split("\n")
    least = min(len(one), len(other))
    begin = 0
    while begin < least and one[begin] == other[begin]:
        begin += 1
    end = 0
    while end < least - begin and one[-1 - end] == other[-1 - end]:
        end += 1
    lines = [(" ", text) for text in one[:begin]]
    lines += [("-", text) for text in one[begin : len(one) - end]]
    lines += [("+", text) for text in other[begin : len(other) - end]]
    lines += [(" ", text) for text in one[len(one) - end :]]
    return f'<pre class="diff" dir="auto">{"".join(_line(sign, text) for sign, text in lines)}</pre>'


def looks_like_diff(text: str) -> bool:
    """Return whether a text is a patch."""
    head = text[:4000]
    return head.startswith(("diff --git ", "--- ", "*** Begin Patch", "Index: ")) and ("\n+" in head or "\n-" in head)


def patch_html(text: str) -> str:
    """Return a patch with its lines marked."""
    out: list[str] = []
    for line in plain(text).split("\n"):
        kind = None if line.startswith(("+++ ", "--- ")) else _KINDS.get(line[:1])
        shown = f"{text_html(line)}\n"
        out.append(f"<{kind}>{shown}</{kind}>" if kind else shown)
    return f'<pre class="diff" dir="auto">{"".join(out)}</pre>'


def _line(sign: str, text: str) -> str:
    shown = f"{sign} {text_html(text)}\n"
    kind = _KINDS.get(sign)
    return f"<{kind}>{shown}</{kind}>" if kind else shown

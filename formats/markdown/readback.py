"""Reads documents back: whether each part is as it was written, and how many messages there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import yaml

from satchel.events import Problem
from satchel.formats.markdown.markers import parts

__all__ = ["ReadBack", "read_back"]


class ReadBack(NamedTuple):
    """What a document says when it is read back: its session, and its messages by state."""

    line: int
    session_id: str
    messages: int
    compacted: int
    rewound: int
    content_digest: str | None = None
    """None: a document does not hold all that the digest takes."""
    native_digest: str | None = None
    fault: str | None = None


def read_back(path: str | os.PathLike[str], *, update: Callable[[bytes], object]) -> Iterator[ReadBack | Problem]:
    """
    Read a document from its first byte to its last and yield what is wrong with it, then what it says.

    `update` gets every byte that is read, in order. A file beside the documents (a picture, a project's file) says nothing.
    """
    counts = {"live": 0, "compacted": 0, "rewound": 0, "sidechain": 0}
    expected = 0
    is_document = False
    session_id = ""
    with open(path, "rb") as file:
        if os.path.splitext(path)[1] not in (".md", ".qmd"):
            while piece := file.read(1 << 20):
                update(piece)
            return
        for part in parts(file, update):
            if part.kind == "":
                # What has no mark at all is no document of a session, and misses its session if there should be one.
                if is_document:
                    yield Problem(f"line {part.at}", part.fault or "", "loss", 1)
                continue
            if part.kind == "facts":
                session_id = _session_id(part.fields["yaml"])
                continue
            is_document = True
            if part.fault is not None:
                what = "what stands before the messages" if part.kind == "head" else f"message {part.fields.get('n', '?')}"
                yield Problem(f"line {part.at}", f"{what} {part.fault}", "loss", 1)
            if part.kind == "message":
                expected += 1
                if part.fields.get("n") != str(expected):
                    yield Problem(
                        f"line {part.at}", f"message {part.fields.get('n', '?')} stands where {expected} should", "loss", 1
                    )
                state = part.fields.get("state", "live")
                rows = part.fields.get("rows", "1")
                counts[state if state in counts else "live"] += int(rows) if rows.isdecimal() else 1
    if is_document:
        yield ReadBack(1, session_id, counts["live"], counts["compacted"], counts["rewound"] + counts["sidechain"])


def _session_id(block: str) -> str:
    """Return the session that a document's front matter names."""
    try:
        facts = yaml.safe_load(block)
    except yaml.YAMLError:
        return ""
    if isinstance(facts, dict) and isinstance(facts.get("session"), dict):
        facts = facts["session"]
    found = facts.get("session_id") if isinstance(facts, dict) else None
    return found if isinstance(found, str) else ""

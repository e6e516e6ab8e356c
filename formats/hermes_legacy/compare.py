"""Which messages of one account of a session another account lacks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from satchel.errors import JsonError
from satchel.formats.model import Attachment, Image, Message, Thinking, ToolCall, ToolResult, Unknown, plain_text
from satchel.jsontext import canonical

__all__ = ["Key", "key_of", "paired"]

_NEAR = 120.0
"""Seconds: times of one message, noted in two places, are hardly further apart."""

_TAGGED = re.compile(r"<(REASONING_SCRATCHPAD|think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_HALVES = re.compile("[\ud800-\udfff]")


class Key(NamedTuple):
    """What a message says: two accounts of one message have the same `text` or the same `whole`; `says` is False for nothing."""

    whole: bytes
    text: bytes
    calls: bool
    says: bool
    time: float | None


def key_of(message: Message) -> Key:
    """Return what a message is compared by: its role, its text without thoughts, its calls without their ids."""
    parts: list[bytes] = []
    text = _said(message)
    calls = [block for block in message.blocks if isinstance(block, ToolCall)]
    for block in message.blocks:
        if isinstance(block, ToolCall):
            parts.append(_json([block.name, block.arguments]))
        elif isinstance(block, Image):
            parts.append(_json([block.data, block.url]))
        elif isinstance(block, Attachment | Unknown) and not _is_reasoning(block):
            parts.append(_json(block.data))
    role = "tool" if message.role == "function" else message.role
    plain = hashlib.blake2b(f"{role}\0{text}".encode("utf-8", "replace"), digest_size=16)
    whole = plain.copy()
    for part in parts:
        whole.update(b"\0%d\0" % len(part) + part)
    says = bool(text or parts or any(isinstance(b, Thinking) and b.text for b in message.blocks))
    return Key(whole.digest(), plain.digest(), bool(calls), says, message.time)


def _said(message: Message) -> str:
    text = plain_text(message.blocks, injected=False) or plain_text(message.blocks)
    for block in message.blocks:
        if isinstance(block, ToolResult):
            text = f"{text}\n{plain_text(block.content)}"
    if message.role == "assistant":
        text = _TAGGED.sub("", text)
    return " ".join(_HALVES.sub("\ufffd", text).split())


def _is_reasoning(block: Attachment | Unknown) -> bool:
    return isinstance(block, Unknown) and isinstance(block.data, dict) and "codex_message_items" in block.data


def _json(value: object) -> bytes:
    try:
        return canonical(value)
    except JsonError:
        return repr(value).encode("utf-8", "replace")


def paired(ours: Sequence[Key], theirs: Iterable[Key]) -> list[int | None]:
    """
    Return for each of our messages which of theirs it is, by position; None where they lack it.

    What is said decides, as often as it is said; among equals the nearest in time, then the order. Times alone separate
    nothing, since the files have those of a zone that nobody knows. Where a call was not noted with a text, the text decides.
    """
    found: list[int | None] = [None] * len(ours)
    others = list(theirs)
    free = set(range(len(others)))
    for loose in (False, True):
        places: dict[bytes, list[int]] = {}
        for at in sorted(free):
            places.setdefault(others[at].text if loose else others[at].whole, []).append(at)
        left = [i for i, place in enumerate(found) if place is None]
        for near in (True, False):
            for i in left:
                key = ours[i]
                if found[i] is not None or (loose and key.calls):
                    continue
                fitting = places.get(key.text if loose else key.whole, [])
                place = next(_fitting(key, fitting, others, near=near), None)
                if place is not None:
                    found[i] = place
                    fitting.remove(place)
                    free.discard(place)
    return found


def _fitting(key: Key, places: Sequence[int], others: Sequence[Key], *, near: bool) -> Iterator[int]:
    for place in places:
        time = others[place].time
        if not near or (time is not None and key.time is not None and abs(time - key.time) <= _NEAR):
            yield place

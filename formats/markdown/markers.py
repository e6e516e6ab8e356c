"""
What a document says of its own parts, so that they can be taken out of it again: how long each is, and its SHA-256.

In Markdown a marker is a comment, in Quarto the opening line of a division. It stands right before the part, whose bytes are then
counted: nothing that a message says can be taken for one. The format is described in docs/formats/markdown.md.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple
from urllib.parse import quote

from satchel.formats.model import Message

__all__ = ["Part", "head", "message", "parts"]

_ORDINARY = re.compile(r"[A-Za-z0-9._:~-]{1,100}")
_FIELD = re.compile(rb"([a-z0-9]+)=(?:\"([^\"]*)\"|([^ \"}]+))")
_MARKER = re.compile(rb"(?:<!-- (head|msg)( [^\n]*?) -->|:{5} \{\.(head|message)( [^\n]*)\})\n")
_LONGEST = 4096


def _word(value: str | None) -> str:
    """Return a value as it stands in a marker: no blank, no quote, no end of a comment."""
    if not value:
        return "-"
    if _ORDINARY.fullmatch(value) and "--" not in value:
        return value
    return quote(value[:200].encode("utf-8", "replace"), safe="").replace("-", "%2D")


def message(number: int, said: Message, body: bytes, *, when: str, count: int, quarto: bool) -> bytes:
    """Return the marker that stands before a message's part; `when` is its time in RFC 3339, `count` how many rows it is."""
    rows = f" rows={count}" if count != 1 else ""
    fields = (
        f"n={number} id={_word(said.id)} role={_word(said.role)} author={said.author} state={said.state} ts={when or '-'}{rows}"
    )
    return _marker("message" if quarto else "msg", fields, body, quarto)


def head(body: bytes, *, quarto: bool) -> bytes:
    """Return the marker of what stands before the messages."""
    return _marker("head", "", body, quarto)


def _marker(kind: str, fields: str, body: bytes, quarto: bool) -> bytes:
    said = f"{fields} bytes={len(body)} sha256={hashlib.sha256(body).hexdigest()}".lstrip()
    if quarto:
        quoted = " ".join('{}="{}"'.format(*field.split("=")) for field in said.split(" "))
        return f"::::: {{.{kind} {quoted}}}\n".encode()
    return f"<!-- {kind} {said} -->\n".encode()


class Part(NamedTuple):
    """
    A part of a document.

    Attributes:
        kind: "facts" for the front matter, then "head", then "message" for each.
        fields: What its marker says, by name; of the facts their `yaml`.
        fault: What is wrong with it, None for a part that is as it was written.
        at: The line its marker stands in, from 1.
    """

    kind: str
    fields: dict[str, str]
    fault: str | None
    at: int


def parts(file: IO[bytes], update: Callable[[bytes], object]) -> Iterator[Part]:
    """
    Yield the parts of a document, `update` taking all of its bytes in order.

    A document that is damaged so that its parts can't be told apart any more ends with a part of the kind "".
    """
    at = 1
    first = file.readline(_LONGEST)
    update(first)
    if first != b"---\n":
        yield Part("", {}, "does not begin as a document of Satchel does", at)
        _rest(file, update)
        return
    facts: list[bytes] = []
    while line := file.readline():
        update(line)
        at += 1
        if line == b"---\n":
            break
        facts.append(line)
    yield Part("facts", {"yaml": b"".join(facts).decode("utf-8", "replace")}, None, 1)
    while line := file.readline(_LONGEST):
        update(line)
        at += 1
        found = _MARKER.fullmatch(line)
        if found is None:
            yield Part("", {}, "has something between its parts", at)
            _rest(file, update)
            return
        kind = "head" if (found[1] or found[3]) == b"head" else "message"
        fields = {name.decode(): (quoted or bare).decode("ascii", "replace") for name, quoted, bare in _FIELD.findall(line)}
        place = at
        size = int(fields["bytes"]) if fields.get("bytes", "").isdecimal() else -1
        if size < 0:
            yield Part("", fields, "has a marker without a length", at)
            _rest(file, update)
            return
        digest = hashlib.sha256()
        left = size
        while left and (piece := file.read(min(left, 1 << 20))):
            update(piece)
            digest.update(piece)
            at += piece.count(b"\n")
            left -= len(piece)
        fault = "is cut short" if left else None
        if fault is None and digest.hexdigest() != fields.get("sha256"):
            fault = "is not what was written"
        yield Part(kind, fields, fault, place)


def _rest(file: IO[bytes], update: Callable[[bytes], object]) -> None:
    while piece := file.read(1 << 20):
        update(piece)

"""
What a line keeps of a session that comes from another agent: whose it was, and its original records as text that gives the bytes
back, with a digest of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from satchel.contracts import Lineage, Record, SessionInfo, SessionView
from satchel.digest import lineage_digest
from satchel.errors import JsonError
from satchel.jsontext import canonical, dumps, loads

__all__ = ["agent_of", "faults", "native", "native_digest", "origin_json", "parts_of", "records", "write_native"]

_TOOLS = {"claude": "claude-code", "codex": "codex"}
_AGENTS = {tool: agent for agent, tool in _TOOLS.items()}

_ODD = "odd"
"""The kind of what stands among original records and is none."""


# ---------------------------------------------------------------------------------------------------------- whose it was


def origin_json(info: SessionInfo) -> str:
    """Return what a session's row says of where it comes from, in Hermes' own form."""
    said = {"tool": _TOOLS.get(info.agent, info.agent), "foreign_session_id": info.id}
    return json.dumps({"imported_from": said | ({"lineage": info.lineage} if info.lineage is not None else {})})


def agent_of(row: Mapping[str, Any], dialect: str) -> tuple[str, Lineage | None]:
    """Return who wrote a session that has a dialect, by its row, and why it has a parent."""
    try:
        said = loads(row["origin_json"])["imported_from"]
        tool, lineage = said["tool"], said.get("lineage")
    except (JsonError, LookupError, TypeError, AttributeError):
        tool, lineage = dialect, None
    agent = _AGENTS.get(tool, tool) if isinstance(tool, str) else dialect
    return agent, cast("Lineage", lineage) if lineage in get_args(Lineage) else None


# ---------------------------------------------------------------------------------------------------------- writing


def write_native(session: SessionView, put: Callable[[bytes], object]) -> str | None:
    """
    Give `put` the keys of a session's original records, each with a comma before it, and return their digest.

    None where the session has no such records; nothing is written then.
    """
    segments = [session.native(segment) for segment in range(len(session.ids))]
    if all(found is None for found in segments):
        return None
    put(b',"native":[')
    parts: list[dict[str, Any]] = []
    comma = b""
    for found in segments:
        digest, number = hashlib.sha256(), 0
        for record in found or ():
            number += 1
            value = _noted(record)
            body = dumps(value)
            digest.update(body if type(value) is str else canonical(value))
            digest.update(b"\n")
            put(comma + body)
            comma = b","
        parts.append({"records": number, "sha256": digest.hexdigest()})
    put(b'],"native_parts":' + dumps(parts))
    return lineage_digest([part["sha256"] for part in parts])


def _noted(record: Record) -> Any:
    """Return a line as its text, and anything else as an object that says what it is; `b64` stands for bytes that are no text."""
    if record.kind == _ODD:
        return record.data
    raw = record.raw if record.raw is not None else dumps(record.data) + b"\n"
    try:
        text: Any = raw.decode()
    except UnicodeDecodeError:
        text = {"b64": base64.b64encode(raw).decode()}
    return text if record.kind == "line" else {"kind": record.kind, "key": record.key, "text": text}


# ---------------------------------------------------------------------------------------------------------- reading


def native(extra: Mapping[str, Any]) -> list[Any] | None:
    """Return the original records as they stand under `satchel`; None where none do."""
    found = extra.get("native")
    return found if isinstance(found, list) else None


def parts_of(extra: Mapping[str, Any], segments: int) -> list[Sequence[Any]]:
    """
    Return the original records of each segment.

    Where the line does not say how many each has, or what it says can't be, the first one has them all.
    """
    values = native(extra) or []
    sizes = _sizes(extra)
    if sizes is None or len(sizes) != segments or sum(sizes) != len(values):
        return [values, *[()] * (segments - 1)]
    ends = [sum(sizes[: at + 1]) for at in range(segments)]
    return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _sizes(extra: Mapping[str, Any]) -> list[int] | None:
    said = extra.get("native_parts")
    if not isinstance(said, list):
        return None
    sizes = [part.get("records") if isinstance(part, dict) else None for part in said]
    whole = [size for size in sizes if type(size) is int and size >= 0]
    return whole if len(whole) == len(sizes) else None


def native_digest(extra: Mapping[str, Any], segments: int) -> str | None:
    """Return the digest of the original records of a line as they stand there; None where there are none."""
    if native(extra) is None:
        return None
    return lineage_digest([_digest(part) for part in parts_of(extra, segments)])


def _digest(values: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(canonical(value))
        digest.update(b"\n")
    return digest.hexdigest()


def faults(extra: Mapping[str, Any], segments: int) -> str | None:
    """Say what is wrong with the original records of a line, by what it says of them itself; None where nothing is."""
    if "native_parts" not in extra:
        return None
    values, sizes = native(extra), _sizes(extra)
    if values is None or sizes is None or len(sizes) != segments:
        return "its original records, or what is said of them, are not as they should be"
    if sum(sizes) != len(values):
        return f"it has {len(values)} original records, and {sum(sizes)} were written"
    said = [part.get("sha256") for part in extra["native_parts"]]
    if said != [_digest(part) for part in parts_of(extra, segments)]:
        return "its original records are not those that were written"
    return None


def records(values: Iterable[Any]) -> Iterator[Record]:
    """Yield original records from what stands for them in a line; `key` counts lines from 1."""
    number = 0
    for value in values:
        kind, key, text = "line", None, value
        if (
            isinstance(value, dict)
            and value.keys() == _KEYS
            and isinstance(value["kind"], str)
            and value["kind"] not in (_ODD, "line")
        ):
            kind, key, text = value["kind"], value["key"], value["text"]
        raw = _bytes(text)
        if raw is None:
            yield Record(_ODD, number, value)
            continue
        if kind == "line":
            number += 1
            key = number
        try:
            data = loads(raw)
        except JsonError:
            data = None
        yield Record(kind, key, data, raw)


_KEYS = {"kind", "key", "text"}


def _bytes(text: Any) -> bytes | None:
    """Return the bytes that a text stands for; None for what would not be written so."""
    try:
        if isinstance(text, str):
            return text.encode()
        if isinstance(text, dict) and text.keys() == {"b64"}:
            raw = base64.b64decode(text["b64"])
            return raw if base64.b64encode(raw).decode() == text["b64"] and not _is_text(raw) else None
    except (ValueError, TypeError):
        pass
    return None


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True

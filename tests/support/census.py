"""Counts what is read of a real log, for reports that hold numbers and neither its text nor its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from satchel.contracts import Record, SessionInfo, Store
from satchel.events import Problem
from satchel.formats.model import Entry, Message, Note, ToolCall, ToolResult, Unknown

__all__ = ["TOKENS", "census", "key_of", "read"]

TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")


def key_of(file: Path) -> str:
    """Return what a file is known by in a report: the first digits of the SHA-256 of its bytes; its name may be somebody's."""
    return sha256(file.read_bytes()).hexdigest()[:16]


def read(file: Path, store: Store) -> tuple[SessionInfo, list[Record], list[Entry]]:
    """Read the one session of a log, whose records must be its bytes, but for blank lines."""
    (info,) = store.sessions()
    records = list(store.records(info.id))
    with file.open("rb") as lines:
        assert b"".join(line for line in lines if line.strip()) == b"".join(record.raw or b"" for record in records)
    return info, records, list(store.decode(records))


def census(info: SessionInfo, records: Sequence[Record], entries: Iterable[Entry], heard: Sequence[Problem]) -> dict[str, Any]:
    """Return the numbers of a session."""
    entries = list(entries)
    messages = [entry for entry in entries if isinstance(entry, Message)]
    blocks = [block for message in messages for block in message.blocks]
    calls = [block.id for block in blocks if isinstance(block, ToolCall)]
    results = [block.call_id for block in blocks if isinstance(block, ToolResult)]
    return {
        "records": len(records),
        "entries": len(entries),
        "messages": dict(sorted(Counter(f"{m.role}/{m.author}/{m.state}" for m in messages).items())),
        "notes": dict(sorted(Counter(entry.kind for entry in entries if isinstance(entry, Note)).items())),
        "calls": len(calls),
        "results": len(results),
        "paired": len(set(calls) & set(results)),
        "unknown_blocks": sum(isinstance(block, Unknown) for block in blocks),
        "damaged": sum(record.data is None for record in records),
        "problems": len(heard),
        "tokens": [getattr(info.usage, field) for field in TOKENS],
    }

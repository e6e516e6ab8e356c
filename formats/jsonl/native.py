"""The original records of a session that comes from logs, inside its line: text that gives the bytes back."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from satchel.contracts import Record, SessionView
from satchel.jsontext import dumps

__all__ = ["native"]


def native(session: SessionView, put: Callable[[bytes], object]) -> None:
    """Give the records of a session to `put`, in order and with commas between them."""
    comma = b""
    for segment in range(len(session.ids)):
        for record in session.records(segment):
            put(comma + dumps(_noted(record)))
            comma = b","


def _noted(record: Record) -> Any:
    """Return a line as its text, and anything else as an object that says what it is; `b64` stands for bytes that are no text."""
    raw = record.raw if record.raw is not None else dumps(record.data) + b"\n"
    try:
        text: Any = raw.decode()
    except UnicodeDecodeError:
        text = {"b64": base64.b64encode(raw).decode()}
    return text if record.kind == "line" else {"kind": record.kind, "key": record.key, "text": text}

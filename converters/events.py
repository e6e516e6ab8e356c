"""
What a run tells its listener: frozen events, no transcript text in any of them.

A listener is any callable that takes one event; `ignore` is the default everywhere. `as_dict` gives the stable form that
`--log-json` prints (docs/events.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from satchel.frozen import frozen

__all__ = [
    "Event",
    "Failed",
    "FileWritten",
    "Listener",
    "Problem",
    "Progress",
    "RunStarted",
    "Said",
    "SessionFinished",
    "SessionStarted",
    "StoreOpened",
    "Totals",
    "Verified",
    "as_dict",
    "ignore",
]


@frozen(frozen=True, slots=True)
class RunStarted:
    """A command begins its work."""

    command: str


@frozen(frozen=True, slots=True)
class StoreOpened:
    """A store was opened: `format` is the reader's name, `how` says in words how it is read ("as a snapshot", …)."""

    format: str
    path: str
    how: str


@frozen(frozen=True, slots=True)
class SessionStarted:
    """A session is about to be read."""

    session_id: str


@frozen(frozen=True, slots=True)
class Progress:
    """`done` of `total` sessions are through; `total` is None while it is unknown."""

    done: int
    total: int | None


@frozen(frozen=True, slots=True)
class Problem:
    """
    Something that is not as it should be, and did not stop the run.

    `severity` is "warning" (nothing is missing: it was read, or kept as it stood) or "loss" (`lost` sessions or records could not
    be read or written; the run ends with exit status 3). `where` names the place: a file and line, a table and row, a session id.
    """

    where: str
    message: str
    severity: Literal["warning", "loss"] = "warning"
    lost: int = 0


@frozen(frozen=True, slots=True)
class FileWritten:
    """A file is complete under its final name; `sha256` is the lower-case hex digest of its bytes."""

    path: str
    bytes: int
    sha256: str


@frozen(frozen=True, slots=True)
class SessionFinished:
    """A session was written; `messages` counts live, compacted and rewound ones."""

    session_id: str
    messages: int


@frozen(frozen=True, slots=True)
class Verified:
    """A file was compared with its manifest."""

    path: str
    ok: bool


@frozen(frozen=True, slots=True)
class Totals:
    """The run is over; `lost` counts the sessions and records that could not be read or written."""

    sessions: int
    messages: int
    files: int
    bytes: int
    warnings: int
    lost: int


@frozen(frozen=True, slots=True)
class Said:
    """A sentence for people, which no other event says."""

    text: str


@frozen(frozen=True, slots=True)
class Failed:
    """The run ends with an error: `message` is one sentence, `exit_code` the process's exit status."""

    message: str
    exit_code: int


Event = (
    RunStarted
    | StoreOpened
    | SessionStarted
    | Progress
    | Problem
    | FileWritten
    | SessionFinished
    | Verified
    | Totals
    | Said
    | Failed
)
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing: the listener of a run to which nobody listens."""


def as_dict(event: Event) -> dict[str, object]:
    """Return the event as JSON-ready keys; `event` holds its kind in snake case ("file_written")."""
    from dataclasses import fields

    name = type(event).__name__
    kind = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    out: dict[str, object] = {"event": kind}
    for f in fields(event):
        out[f.name] = getattr(event, f.name)
    return out

"""What a verification says: findings and notes, and the look into a file that it may be given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from satchel.frozen import frozen
from satchel.manifest.paths import shown

__all__ = ["ContentCheck", "Finding", "Losses", "Report"]

_NAMED = 5  # ids and kinds that are named; the rest is counted
_KINDS = 100  # nothing of ours has as many


class Finding(NamedTuple):
    """
    One thing that is wrong, or a note: a thing to know of a copy that is as it was written.

    Attributes:
        kind: "manifest" (the seal, a line, a sum), "unsafe" (a path that leads out, a link, a device), "missing", "unexpected",
            "size", "hash" or "sums" (the checksum list says something else); a content check may bring its own. Of a note:
            "incomplete", "losses", "older" or "unchecked".
        path: The file, relative to the manifest's folder.
        message: The fact as a sentence for people, with the path in it.
    """

    kind: str
    path: str
    message: str


@frozen(frozen=True, slots=True, kw_only=True)
class Report:
    """
    What `verify` found.

    Attributes:
        findings: All that is wrong, in the order of the checks.
        manifest: The manifest's path, None when there is none.
        files, bytes, sessions: How many the manifest lists; bytes are those of the files.
        notes: What to know though nothing is wrong: what was not read whole in the first place, what could not be compared.
        incomplete: How many of the sessions were not read whole when they were written.
        lost: How many sessions and records could not be read or written then, as far as the manifest knows.
    """

    findings: tuple[Finding, ...]
    manifest: str | None = None
    files: int = 0
    bytes: int = 0
    sessions: int = 0
    notes: tuple[Finding, ...] = ()
    incomplete: int = 0
    lost: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


class ContentCheck(Protocol):
    """
    Looks into a file whose size is right while `verify` hashes it, so that it is read once.

    It opens the path, passes every byte it reads, in order, to `update`, and returns what it found; what it could not compare is
    of the kind "unchecked", and becomes a note. `file` is the manifest's line of the file, `header` the header that speaks of it,
    `sessions` yields the session lines that name it, in order. A file that was not passed whole is read again.
    """

    def __call__(
        self,
        path: str,
        update: Callable[[bytes], None],
        /,
        *,
        file: Mapping[str, Any],
        header: Mapping[str, Any],
        sessions: Iterator[dict[str, Any]],
    ) -> Iterable[Finding]: ...


class Losses:
    """
    What a manifest records as lost: its copy is none the worse for it, and it is no whole one.

    Attributes:
        incomplete: Sessions that were not read whole.
        lost: Sessions and records that could not be read or written.
        lossy: Sessions that the format could not hold all of, and how often which kind of thing.
    """

    __slots__ = ("_ids", "_kinds", "incomplete", "lossy", "lost")

    def __init__(self) -> None:
        self.incomplete = 0
        self.lost = 0
        self.lossy = 0
        self._ids: list[str] = []
        self._kinds: Counter[str] = Counter()

    def add(self, line: Mapping[str, Any], /) -> None:
        """Count what a line of a manifest says, of whatever type it is."""
        kind = line.get("type")
        if kind not in ("session", "loss"):
            return
        lost, losses = _number(line.get("lost")), line.get("losses")
        self.lost += lost
        if kind == "session" and (lost or line.get("incomplete")):
            self.incomplete += 1
            if len(self._ids) < _NAMED:
                self._ids.append(shown(str(line.get("session_id"))))
        if kind == "session" and losses and isinstance(losses, dict):
            self.lossy += 1
            for what, times in losses.items():
                self._kinds[what if what in self._kinds or len(self._kinds) < _KINDS else "other"] += _number(times)

    def notes(self, manifest: str, /) -> Iterator[Finding]:
        """Yield what there is to say, as notes on the manifest of this name."""
        if self.incomplete:
            ids = ", ".join(self._ids) + (", …" if self.incomplete > _NAMED else "")
            were = "was" if self.incomplete == 1 else "were"
            text = f"{_count(self.incomplete, 'session')} {were} not read whole when this was written: {ids}"
            yield Finding("incomplete", manifest, text)
        if self.lost:
            text = f"at least {_count(self.lost, 'record')} could not be read or written when this was written"
            yield Finding("incomplete", manifest, text)
        if self.lossy:
            kinds = ", ".join(f"{shown(what)} ({times})" for what, times in self._kinds.most_common(_NAMED))
            more = ", …" if len(self._kinds) > _NAMED else ""
            text = f"the format could not hold all of {_count(self.lossy, 'session')}: {kinds}{more}"
            yield Finding("losses", manifest, text)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _number(value: object) -> int:
    return value if type(value) is int and value > 0 else 0

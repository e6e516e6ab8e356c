"""
What redaction did, in numbers: by rule, by field, by session. A report holds no value, no text around one, and no plain hash.

The tags it holds are those of the placeholders: keyed, so that nobody without the key can try values against them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from satchel.redaction.personal import KINDS
from satchel.redaction.spans import MEDIUM, STRONG, WEAK

__all__ = ["REPORT", "STRENGTHS", "Report", "Session", "place", "sentences"]

REPORT = 1
"""Version of the report's form (docs/redaction.md)."""

STRENGTHS = {STRONG: "strong", MEDIUM: "medium", WEAK: "weak"}
# Keys that are data rather than names of a format: they would tell what a report must not.
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,39}")
_FIELDS = 500


@dataclass(slots=True)
class Session:
    """Counts of one session, or of one file."""

    records: int = 0
    opened: int = 0
    changed: int = 0
    media: int = 0
    hits: Counter[tuple[str, str, int, str, str]] = field(default_factory=Counter)
    """How often each (rule, field, strength, way, tag) was replaced."""


class Report:
    """Counts what is replaced; whoever redacts tells it, each place once."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.gate: str = "off"
        """What came of the scan of the output: "off", "passed", or "failed"."""
        self.verifiers: dict[str, int] = {}
        """How many findings each second opinion had, by the program's name."""

    def __repr__(self) -> str:
        return f"Report({len(self.sessions)} sessions, {self.total} replaced)"

    def clear(self) -> None:
        """Forget everything: the run begins anew."""
        self.sessions.clear()
        self.verifiers.clear()
        self.gate = "off"

    def _of(self, session: str) -> Session:
        found = self.sessions.get(session)
        if found is None:
            found = self.sessions[session] = Session()
        return found

    def looked(self, session: str, *, opened: bool) -> None:
        """Count a record that was looked at; `opened` when its strings were gone through one by one."""
        here = self._of(session)
        here.records += 1
        here.opened += opened

    def changed(self, session: str) -> None:
        """Count a record that something went from."""
        self._of(session).changed += 1

    def rename(self, session: str, name: str) -> None:
        """Call a session otherwise, in the same place."""
        self.sessions = {name if at == session else at: counts for at, counts in self.sessions.items()}

    def media(self, session: str) -> None:
        """Count a picture, font or sound that was left out."""
        self._of(session).media += 1

    def found(self, *, rule: str, strength: int, tag: str, session: str, kind: str, names: Sequence[str], again: bool) -> None:
        """
        Count a replacement.

        Args:
            kind: Of the record: "messages", "line".
            names: The names that it stands under in its record, outermost first.
            again: It is known from elsewhere in the session alone.
        """
        way = "again" if again else "found"
        self._of(session).hits[rule, place(kind, names), strength, way, tag] += 1

    @property
    def total(self) -> int:
        """How many places were replaced."""
        return sum(sum(session.hits.values()) for session in self.sessions.values())

    def secrets(self) -> dict[str, int]:
        """Return by rule how many different values went, most first; equal tags are equal values."""
        found = {(rule, tag) for session in self.sessions.values() for rule, _, _, _, tag in session.hits}
        return dict(Counter(rule for rule, _ in sorted(found)).most_common())

    def touched(self) -> int:
        """Return how many sessions something was replaced in."""
        return sum(bool(session.hits) for session in self.sessions.values())

    def as_dict(self, *, rules: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """
        Return the report as JSON-ready keys (docs/redaction.md).

        Args:
            rules: What is said of the rules in force: their version, their digest, their number.
        """
        by_rule: dict[str, dict[str, Any]] = {}
        fields: Counter[str] = Counter()
        strengths: Counter[str] = Counter()
        ways: Counter[str] = Counter()
        tags: dict[str, set[str]] = {}
        for session in self.sessions.values():
            for (rule, where, strength, way, tag), count in session.hits.items():
                entry = by_rule.setdefault(rule, {"replaced": 0, "distinct": 0, "sessions": 0, "strength": STRENGTHS[strength]})
                entry["replaced"] += count
                tags.setdefault(rule, set()).add(tag)
                fields[where] += count
                strengths[STRENGTHS[strength]] += count
                ways[way] += count
            for rule in {rule for rule, *_ in session.hits}:
                by_rule[rule]["sessions"] += 1
        for rule, entry in by_rule.items():
            entry["distinct"] = len(tags[rule])
            entry["tags"] = sorted(tags[rule])
        every = self.sessions.values()
        return {
            "report": REPORT,
            "rules": dict(rules or {}),
            "replaced": self.total,
            "distinct": sum(len(found) for found in tags.values()),
            "records": sum(session.records for session in every),
            "records_opened": sum(session.opened for session in every),
            "records_changed": sum(session.changed for session in every),
            "media": sum(session.media for session in every),
            "by_rule": dict(sorted(by_rule.items())),
            "by_field": _limited(fields),
            "by_strength": dict(sorted(strengths.items())),
            "by_way": dict(sorted(ways.items())),
            "by_session": [_session(name, session) for name, session in self.sessions.items()],
            "gate": self.gate,
            "verifiers": dict(sorted(self.verifiers.items())),
        }


def _session(name: str, session: Session) -> dict[str, Any]:
    rules: Counter[str] = Counter()
    for (rule, *_), count in session.hits.items():
        rules[rule] += count
    return {
        "session": name,
        "records": session.records,
        "records_changed": session.changed,
        "replaced": sum(session.hits.values()),
        "by_rule": dict(sorted(rules.items())),
    }


def _limited(fields: Counter[str]) -> dict[str, int]:
    """Return counts by field in order; beyond so many fields the rarest are one number, since keys may be anything."""
    kept = dict(sorted(fields.most_common(_FIELDS)))
    rest = fields.total() - sum(kept.values())
    return kept | ({"…": rest} if rest else {})


def place(kind: str, names: Sequence[str]) -> str:
    """
    Return a field as it is told: "messages/content", "line/message/content/text"; what is no plain name becomes `?`.

    A key may be a path, an address, or a secret itself: only words as a format has them are shown.
    """
    shown = (name if _NAME.fullmatch(name) and not _random(name) else "?" for name in names if name)
    return "/".join([kind, *shown])


def _random(name: str) -> bool:
    """Return whether a key looks drawn by lot: letters and digits change places often."""
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(name))
    return turns > 3 or "REDACTED" in name


def sentences(report: Report, *, unit: str, verb: str = "removed") -> list[str]:
    """
    Return what people are told at the end of a run: how many secrets of which kinds went, and that this does not make them safe.

    Args:
        unit: What was gone through: "session", "file".
        verb: What was done with them: "removed", "found".
    """
    kinds = report.secrets()
    secret = {rule: count for rule, count in kinds.items() if rule not in KINDS}
    personal = {rule: count for rule, count in kinds.items() if rule in KINDS}
    said: list[str] = []
    if secret:
        total, touched = sum(secret.values()), report.touched()
        of = f" of {len(secret)} kinds" if len(secret) > 1 else ""
        said.append(f"{_counted(total, 'secret')}{of} {verb} in {_counted(touched, unit)}: {_listed(secret)}")
    if personal:
        said.append(f"personal data {verb}: {_listed(personal)}")
    if secret:
        said.append("redacting is not rotating: whoever saw them has them, so replace these secrets where they are valid")
    return said or [f"no secret {verb}"]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _listed(kinds: Mapping[str, int], most: int = 12) -> str:
    shown = [f"{rule} {count:,}" for rule, count in list(kinds.items())[:most]]
    more = len(kinds) - len(shown)
    return ", ".join(shown) + (f", and {_counted(more, 'other kind')}" if more else "")

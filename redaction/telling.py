"""
What a report is told while records are applied: what went from each of them, once, and how often each rule was right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from satchel.contracts import Record
from satchel.redaction.media import RULE
from satchel.redaction.roles import Report
from satchel.redaction.spelling import Edit

__all__ = ["Counting", "Telling"]


class Telling:
    """
    Tells a report, if there is one, of one family of sessions after the other.

    Args:
        tag: Gives the tag of a value.
        rule_of: Gives the id of the rule whose name a value bears.
    """

    def __init__(self, report: Report | None, *, tag: Callable[[str], str], rule_of: Callable[[str], str | None]) -> None:
        self.report = report
        self._tag = tag
        self.rule_of = rule_of
        self._shown: dict[str, str] = {}
        """What sessions are called in the report, by their ids."""
        self.told: dict[tuple[str, str], int] = {}
        """How many records of a kind were told of, by session: it may be gone through more than once, and not to its end."""
        self.counts: dict[tuple[str, str], Counter[str]] = {}

    def begin(self) -> None:
        """Start a new family."""
        self._shown.clear()
        self.told.clear()
        self.counts.clear()

    def enter(self, session: str, called: Callable[[str], str]) -> None:
        """Say whose records come next; `called` gives what it may be called by now."""
        if self.report is not None and session:
            shown = called(session)
            if self._shown.setdefault(session, shown) != shown:
                self.report.rename(self._shown[session], shown)
                self._shown[session] = shown

    def looked(self, session: str, *, opened: bool) -> None:
        """Count a record; `opened` when its strings were gone through."""
        if self.report is not None:
            self.report.looked(self._shown.get(session, session), opened=opened)

    def total(self, session: str) -> Mapping[str, int]:
        """Return what was taken out of a session that was applied to its end, by rule, and how often."""
        total: Counter[str] = Counter()
        for (one, _), counts in self.counts.items():
            if one == session:
                total += counts
        return total

    def tell(self, session: str, record: Record, found: Sequence[Edit]) -> None:
        """Tell what went from a record."""
        report = self.report
        if report is None:
            return
        session = self._shown.get(session, session)
        for edit in found:
            hit = edit.hit
            if hit.rule == RULE:
                report.media(session)
                continue
            report.found(
                rule=self.rule_of(hit.value) or hit.rule,
                strength=hit.strength,
                tag=self._tag(hit.value),
                session=session,
                kind=record.kind,
                names=edit.names,
                again=hit.again,
            )
        report.changed(session)


class Counting:
    """One way through the records of a session, of the kind that the first of them is."""

    def __init__(self, telling: Telling, session: str) -> None:
        self._telling = telling
        self._session = session
        # What a session's records were made of may be gone through after them.
        self._scope = (session, "")
        self._told = 0
        self._counts: Counter[str] = Counter()

    def begin(self, kind: str) -> None:
        """Take the kind of the first record."""
        self._scope = (self._session, kind)
        self._told = self._telling.told.get(self._scope, 0)

    def add(self, number: int, record: Record, found: Sequence[Edit]) -> None:
        """Take what went from a record."""
        self._counts.update(self._telling.rule_of(edit.hit.value) or edit.hit.rule for edit in found)
        if number >= self._told:
            self._telling.tell(self._session, record, found)
            self._told = self._telling.told[self._scope] = number + 1

    def end(self) -> None:
        """Keep the counts: the session was gone through to its end."""
        self._telling.counts[self._scope] = self._counts

"""
What the redactor works with: an engine that finds, a policy that says what else goes and what stays, a report that counts; and
the places that it tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from satchel.redaction.literals import Hits
from satchel.redaction.rules import RuleSet
from satchel.redaction.spans import Span

__all__ = ["Finder", "Place", "Policy", "Report"]


class Finder(Protocol):
    """What the redactor needs of an engine: `satchel.redaction.engine.Engine` has it."""

    rules: RuleSet

    def find(self, text: str, /, *, hidden: bool = True, hits: Hits | None = None) -> list[Span]:
        """
        Return what of a text is secret, in order, without overlaps.

        Args:
            hidden: It may be disguised.
            hits: Where it may be, as `look` says.
        """
        ...

    def look(self, texts: Sequence[str], /) -> Mapping[int, tuple[int, Hits | None]]:
        """
        Say of texts what `opens` says, and where in them something may be; by number, those it may be in.

        Where it may be is None if that cannot be told.
        """
        ...

    def opens(self, raw: bytes, /) -> int:
        """Say what of a serialised record has to be looked at: 0 nothing, 1 its strings, 2 what they may hide too."""
        ...

    def leaks(self, data: bytes, /) -> Iterable[tuple[int, str]]:
        """Yield where in an output the surest rules find something, and which."""
        ...

    def named_value(self, names: tuple[str, ...], value: str | int, /) -> Span | None:
        """Return what of a value is secret by the names it stands under, outermost first."""
        ...


class Place(NamedTuple):
    """
    What goes from `text[start:end]`, and `new`, which comes there as it is spelled in that text.

    `length` is the secret's, in characters; `names` are those that it stands under; `again` says that only what is known from
    elsewhere tells it.
    """

    start: int
    end: int
    new: str
    rule: str
    strength: int
    tag: str
    length: int
    names: tuple[str, ...]
    again: bool


class Policy(Protocol):
    """What a user wants beside the rules."""

    digest: str
    """SHA-256 of all that shapes the output, in hex; "" where there is nothing."""

    given: Mapping[str, str]
    """Values that have to go wherever they stand, with the id each goes by."""
    drop_media: bool
    """Pictures, fonts and sounds give way to a note of their kind and size."""

    def begin(self) -> None:
        """Start a new family: forget what was learned of the last one."""
        ...

    def allows(self, value: str, rule: str, /) -> bool:
        """Return whether what a rule found may stay."""
        ...

    def find(self, text: str, /) -> Sequence[Span]:
        """Return what the packs that are on find: home directories, addresses."""
        ...

    def may_hold(self, raw: bytes, /) -> bool:
        """Return False only if `find` finds nothing in any string of a serialised record."""
        ...

    def placeholder(self, kind: str, value: str, /) -> str | None:
        """Return what stands for a finding of a pack, None for any other."""
        ...


class Report(Protocol):
    """Counts what was found; it is told no value."""

    gate: str
    """What came of the search of the output: "passed" or "failed"."""

    def clear(self) -> None:
        """Forget everything: the run begins anew."""
        ...

    def looked(self, session: str, /, *, opened: bool) -> None:
        """Count a record; `opened` when its strings were gone through one by one."""
        ...

    def changed(self, session: str, /) -> None:
        """Count a record that something went from."""
        ...

    def rename(self, session: str, name: str, /) -> None:
        """Call a session otherwise from now on: what its id holds of a secret is known by now."""
        ...

    def media(self, session: str, /) -> None:
        """Count a picture or the like that was left out."""
        ...

    def found(self, *, rule: str, strength: int, tag: str, session: str, kind: str, names: tuple[str, ...], again: bool) -> None:
        """
        Count one finding.

        Args:
            names: The names that it stands under in its record, outermost first.
            again: It is known from elsewhere in the family alone.
        """
        ...

"""
The redactor: removes secrets from the records of a family of sessions, in two passes over them.

The first pass learns what is secret, the second takes it out. A record is looked at as it is serialised first, in one go; only
where something may be in it are its strings gone through. What was not changed is the same record after as before.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from satchel.contracts import Record
from satchel.errors import JsonError, RedactionError, SatchelError
from satchel.redaction.gate import Gate
from satchel.redaction.judging import Judging
from satchel.redaction.looking import Look, batches
from satchel.redaction.marks import Marks, place_of
from satchel.redaction.media import BEGINS, RULE, omitted
from satchel.redaction.nested import FULL, NUMBER, STRONG_ONLY, Edit, Sieve, applied, edits, edits_of, mode_of
from satchel.redaction.parts import DATA, ColumnName, changed, exact, is_row, is_said_by, text_of, where
from satchel.redaction.registry import Forms, Hit, Registry
from satchel.redaction.roles import Finder, Place, Policy, Report
from satchel.redaction.spans import STRONG
from satchel.redaction.streams import Streams
from satchel.redaction.tags import TagKey
from satchel.redaction.telling import Counting, Telling

__all__ = ["SecretRedactor"]

_LONGEST_PLACE = 80
_LONGEST_LINE = 128
_KEY_LINE = re.compile(r"(?:(?<=\n\+)|(?<![A-Za-z0-9+/])(?!(?<=\n)\+))(?!b3BlbnNzaC1rZXk)[A-Za-z0-9+/]{48,76}(?![A-Za-z0-9+/])")
"""A line of base64 in a key, but for the first one of OpenSSH, which is the same in all of them."""


class SecretRedactor:
    """
    Keeps the promise of `satchel.contracts.Redactor`.

    Args:
        tags: The key of the tags in placeholders.
        forms: Gives the encoded forms of a value.
    """

    def __init__(
        self,
        engine: Finder,
        *,
        tags: TagKey,
        policy: Policy | None = None,
        report: Report | None = None,
        forms: Forms | None = None,
        native: bool = True,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self.digest = engine.rules.digest
        """SHA-256 of the rules and of what the policy adds, lower-case hex."""
        if policy is not None and policy.digest:
            self.digest = hashlib.sha256(f"{self.digest}+{policy.digest}".encode()).hexdigest()
        self._tags = tags
        given = policy.given if policy is not None else {}
        least = min([6, *map(len, given)])
        drops = policy is not None and policy.drop_media
        order = [rule.id for rule in engine.rules.rules]
        self.registry = Registry(order=order, given=given, forms=forms, native=native)
        """What was found in this family; a gate looks for it in what is written."""
        self._look = Look(engine, least)
        self._looks_wider = drops or (policy is not None and policy.may_hold(b""))
        """More than the rules is looked for: texts are gone through in any case."""
        self._judging = judging = Judging(
            engine, self._look, self.registry, policy=policy, tags=tags, least=least, wider=self._looks_wider
        )
        media = omitted if drops else None
        self._sieve = Sieve(judging.judge, least, media, spots=judging.spots, idle=judging.says_nothing)
        self._quick = self._sieve._replace(places=False, note=judging.noted)
        self._session = ""
        self._marks = Marks()
        self._disguised = Marks()
        """Which records are to be read otherwise too: what is known from elsewhere may be disguised in them."""
        self._telling = Telling(report, tag=tags.tag, rule_of=self.registry.rule_of)
        self._streams = Streams()
        self._found: list[Edit] = []
        """What went from the record that was applied last."""

    def __repr__(self) -> str:
        return "SecretRedactor()"

    # ------------------------------------------------------------------------------------------------ the contract

    def begin(self) -> None:
        """Start a new family: forget what was learned of the last one."""
        self.registry.clear()
        if self._policy is not None:
            self._policy.begin()
        if self._judging.learned:
            self._marks, self._disguised = Marks(), Marks()
        self._judging.begin()
        self._telling.begin()
        self._streams.clear()
        self._session = ""

    def enter(self, session_id: str, /) -> None:
        """Say whose records come next: for the report, and for the place in an error."""
        self._session = session_id
        self._telling.enter(session_id, self._called)

    def told(self, text: str, /) -> str:
        """Return what is told of a run (a path, an id, a message) without what is surely secret."""
        return self._loose(text, STRONG_ONLY)

    def learn(self, records: Iterable[Record], /) -> None:
        """
        Learn what is secret in a session's records.

        Raises:
            RedactionError: It can't be told for a record.
        """
        self._judging.learned = True
        self._streams.end()
        for batch, is_plain in batches(records, plain=not self._looks_wider):
            if is_plain:
                self._learn_all(batch)
            else:
                self._guarded(self._learn, batch[0])

    def apply(self, records: Iterable[Record], /) -> Iterator[Record]:
        """
        Yield a session's records without what is secret, those that hold nothing of it as they are.

        Raises:
            RedactionError: It can't be told for a record.
        """
        registry, session = self.registry, self._session
        self._streams.settle((value, registry.rule_of(value) or "") for value in registry.spreading)
        counting = Counting(self._telling, session)
        for number, record in enumerate(records):
            if not number:
                counting.begin(record.kind)
            new = self._guarded(self._apply, record)
            if self._found:
                counting.add(number, record, self._found)
            yield new
        counting.end()

    def file(self, lines: Iterable[bytes], /, *, whole: bool) -> Iterator[bytes]:
        """Yield a file of a session that was learned without what is secret, line by line, or as a `whole`."""
        if whole:
            lines = [b"".join(lines)]
        # No line of it was learned.
        self._judging.spans = None
        for number, line in enumerate(lines, 1):
            record = Record("line", number, None, line)
            if self._may_hold(line):
                self._marks.add(place_of(record))
            yield self._guarded(self._apply, record).raw

    def counts(self, session_id: str, /) -> Mapping[str, int]:
        """Return what was taken out of a session that was applied to its end, by rule, and how often."""
        return self._telling.total(session_id)

    def gate(self) -> Gate:
        """Return the gate of a run that begins."""
        report = self._telling.report
        if report is not None:
            report.clear()
        allows = self._policy.allows if self._policy is not None else lambda value, rule: False
        return Gate(self._engine, self.registry, allows=allows, report=report)

    def text(self, text: str, /) -> str:
        """Return a text that stands outside the records, a title say, without what is secret. Raises RedactionError."""
        return self._loose(text, FULL)

    def identifier(self, text: str, /) -> str:
        """Return an id without what is secret for sure: an id that other things hang on is not judged by what it looks like."""
        return self._loose(text, STRONG_ONLY)

    def clean(self, text: str, /) -> str:
        """
        Return a text without what is secret in it: one family by itself, learned and applied at once.

        Raises:
            RedactionError: It can't be told.
        """
        self.begin()
        self._judging.learned = True
        record = Record("text", None, text)
        self._guarded(self._learn, record)
        return str(self._guarded(self._apply, record).data)

    def places(self, record: Record, /) -> list[Place]:
        """
        Return what has to go from a record that is a text, in order: for whoever cuts it out himself.

        Raises:
            RedactionError: It can't be told.
        """
        found: list[Place] = self._guarded(self._places, record)
        return found

    def _places(self, record: Record) -> list[Place]:
        self._judging.learning = False
        self._judging.cuts = ()
        return [self._place(edit) for _, edit in self._edits(record)] if self._has_something(record) else []

    def _has_something(self, record: Record) -> bool:
        """Return whether a record has to be gone through."""
        judging, place = self._judging, place_of(record)
        is_marked = not judging.learned or place in self._marks
        judging.direct, judging.hidden = False, not judging.learned or place in self._disguised
        if is_marked and judging.learned and judging.spans is not None:
            # It was gone through when it was learned, and what was found in it is known.
            judging.direct = True
            return True
        if is_marked and self._may_hold(self._look.serialised(record)):
            return True
        # Where nothing was found before, there is only what is known from elsewhere.
        judging.direct = False
        return self._may_have_more(record)

    def _place(self, edit: Edit) -> Place:
        hit = edit.hit
        rule = self.registry.rule_of(hit.value) or hit.rule
        tag = self._tags.tag(hit.value)
        return Place(edit.start, edit.end, edit.new, rule, hit.strength, tag, len(hit.value), edit.names, hit.again)

    # ------------------------------------------------------------------------------------------------ failing closed

    def _guarded(self, work: Callable[[Record], Any], record: Record) -> Any:
        try:
            return work(record)
        except JsonError as error:
            failure = self._failure(error, record)
        except SatchelError:
            raise
        except Exception as error:
            failure = self._failure(error, record)
        # Outside of the handler: what failed may hold a text, and must not hang on to the error.
        raise failure

    def _failure(self, error: Exception, record: Record | None) -> RedactionError:
        rule = getattr(error, "rule", None)
        by = f" (rule {rule})" if isinstance(rule, str) and rule in self._engine.rules.ids else ""
        at = "a text outside the records" if record is None else where(record)
        # For a text outside the records it could not be told what of the session's id is secret.
        called = self._called(self._session) if self._session and record is not None else ""
        session = f" of session {called[:_LONGEST_PLACE]}" if called else ""
        return RedactionError(
            f"secrets could not be removed{by}: {type(error).__name__} at {at}{session}; nothing of it was written",
            subject=called or None,
        )

    def _called(self, session: str) -> str:
        """Return a session's id as it may be told."""
        try:
            return self.identifier(session)
        except RedactionError:
            return "?"

    # ------------------------------------------------------------------------------------------------ learning

    def _may_hold(self, raw: bytes) -> bool:
        opens = self._engine.opens(raw)
        self._judging.direct, self._judging.hidden = opens > 0, opens > 1
        if opens or (self._policy is not None and self._policy.may_hold(raw)):
            return True
        return self._sieve.media is not None and BEGINS.search(raw) is not None

    def _learn(self, record: Record) -> None:
        self._judging.learning = True
        if type(record.data) is dict and record.raw is not None:
            self._streams.take(record, place_of(record), self._in_pieces)
        self._judging.looked = {}
        opened = self._may_hold(self._look.serialised(record))
        self._learn_opened(record, opened=opened)

    def _learn_all(self, records: Sequence[Record]) -> None:
        """Learn from rows and texts: one look at all of them tells which have to be gone through."""
        judging = self._judging
        judging.learning = True
        try:
            looks = list(self._look.over([record.data for record in records]))
        except Exception:
            # Which of them it is shows when each is looked at by itself.
            for record in records:
                self._guarded(self._learn_one, record)
            return
        for record, (depth, judging.looked) in zip(records, looks, strict=True):
            judging.direct, judging.hidden = depth > 0, depth > 1
            self._guarded(self._learn_opened if depth else self._learn_closed, record)

    def _learn_one(self, record: Record) -> None:
        judging = self._judging
        ((depth, judging.looked),) = self._look.over([record.data])
        judging.direct, judging.hidden = depth > 0, depth > 1
        self._learn_opened(record, opened=depth > 0)

    def _learn_closed(self, record: Record) -> None:
        self._learn_opened(record, opened=False)

    def _learn_opened(self, record: Record, *, opened: bool = True) -> None:
        self._telling.looked(self._session, opened=opened)
        if not opened:
            return
        if self._judging.hidden:
            self._disguised.add(place_of(record))
        found = self._edits(record)
        for _, edit in found:
            hit = edit.hit
            if hit.rule == RULE:
                continue
            self.registry.add(hit.value, hit.rule, hit.strength)
            if hit.strength >= STRONG and len(hit.value) > _LONGEST_LINE:
                # A key of several lines may stand elsewhere in another layout, or in part.
                for line in _KEY_LINE.findall(hit.value):
                    self.registry.add(line, hit.rule, hit.strength)
        if found:
            self._marks.add(place_of(record))

    def _in_pieces(self, text: str) -> Sequence[Hit]:
        """Find what is secret in the joined pieces of a stream."""
        if not self._may_hold(text.encode("utf-8", "surrogatepass")):
            return ()
        found = self._judging.judge(text, (), FULL)
        for hit in found:
            self.registry.add(hit.value, hit.rule, hit.strength)
        return found

    # ------------------------------------------------------------------------------------------------ applying

    def _apply(self, record: Record) -> Record:
        key = self._key(record)
        judging = self._judging
        judging.learning = False
        self._found = []
        judging.cuts = self._streams.cuts(place_of(record))
        if self._has_something(record) or judging.cuts:
            found = self._edits(record)
            self._found = [edit for _, edit in found]
            if found:
                return changed(record, found, key)
        return record if key is record.key else Record(record.kind, key, record.data, record.raw, record.plain)

    def _may_have_more(self, record: Record) -> bool:
        """Return whether a record may hold what was not seen in it when it was learned: what was known only later."""
        policy = self._policy
        if self.registry.is_looked_for:
            if place_of(record) in self._disguised:
                return True
            serialised = record.json or self._look.plainly(record)
            return self.registry.holds(serialised) or (policy is not None and policy.may_hold(serialised))
        return policy is not None and policy.may_hold(record.json or self._look.serialised(record))

    def _key(self, record: Record) -> Any:
        key = record.key
        # A key that is a text is the name of a file, or finds a row: then nobody sees it.
        return self.text(key) if type(key) is str and record.raw is not None else key

    def _edits(self, record: Record) -> list[tuple[Any, Edit]]:
        """Return what has to go from a record, each with the part of it that it is in: a column, or None for its text."""
        data, raw, judging = record.data, record.raw, self._judging
        sieve = self._quick if judging.learning else self._sieve
        if raw is not None:
            text = raw.decode("utf-8", "surrogateescape")
            found: list[tuple[Any, Edit]] = [(None, edit) for edit in edits(text, sieve)]
            if not is_said_by(raw, data):
                found += [(DATA, edit) for edit in edits(exact(data), sieve)]
            return found
        if isinstance(data, str):
            return [(None, edit) for edit in edits(data, sieve)]
        if not is_row(data):
            return [(DATA, edit) for edit in edits(exact(data), sieve)]
        found = []
        odd = self._look.is_odd(tuple(data))
        for column, value in data.items():
            if odd and len(column) >= sieve.least and judging.may_be_told(column):
                found += [(ColumnName(column), edit) for edit in edits_of(judging.judge(column, (), FULL))]
            if type(value) is str and judging.is_idle(value, column):
                continue
            if type(value) is int:
                found += [(column, edit) for edit in edits_of(judging.judge(str(value), (column,), NUMBER))]
            elif value is not None and type(value) is not float and type(value) is not bool:
                found += [(column, edit) for edit in edits(text_of(value), sieve, (column,), mode_of(column))]
        return found

    def _loose(self, text: str, mode: int) -> str:
        judging = self._judging
        judging.learning, judging.direct, judging.hidden, judging.cuts = False, True, True, ()
        judging.aside = True
        try:
            found = edits(text, self._sieve) if mode == FULL else edits_of(judging.judge(text, (), mode))
            return applied(text, found) if found else text
        except SatchelError:
            raise
        except Exception as error:
            failure = self._failure(error, None)
        finally:
            judging.aside = False
        raise failure

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
from satchel.redaction.literals import Hits
from satchel.redaction.looking import Look, batches
from satchel.redaction.marks import Marks, place_of
from satchel.redaction.media import BEGINS, RULE, omitted
from satchel.redaction.nested import FULL, NAMED, NUMBER, STRONG_ONLY, Edit, Sieve, Spot, applied, edits, edits_of, mode_of
from satchel.redaction.parts import DATA, ColumnName, changed, exact, is_row, is_said_by, text_of, where
from satchel.redaction.placeholders import spelled
from satchel.redaction.registry import Forms, Hit, Registry
from satchel.redaction.roles import Finder, Place, Policy, Report
from satchel.redaction.spans import STRONG, Span
from satchel.redaction.streams import Cut, Streams
from satchel.redaction.tags import TagKey
from satchel.redaction.telling import Counting, Telling

__all__ = ["SecretRedactor"]

_MOST_KEPT = 1 << 16
_SHORTEST = 10
"""No string that is shorter is a name with its value, or a token."""
_BEFORE_JSON = frozenset("{[ \t\r\n\ufeff\0")
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
        self._least = min([6, *map(len, given)])
        drops = policy is not None and policy.drop_media
        self._sieve = Sieve(self._judge, self._least, omitted if drops else None, spots=self._spots, idle=self._says_nothing)
        self._quick = self._sieve._replace(places=False, note=self._noted)
        order = [rule.id for rule in engine.rules.rules]
        self.registry = Registry(order=order, given=given, forms=forms, native=native)
        """What was found in this family; a gate looks for it in what is written."""
        self._session = ""
        self._marks = Marks()
        self._disguised = Marks()
        """Which records are to be read otherwise too: what is known from elsewhere may be disguised in them."""
        self._learned = False
        self._telling = Telling(report, tag=tags.tag, rule_of=self.registry.rule_of)
        self._look = Look(engine, self._least)
        self._streams = Streams()
        self._cuts: Sequence[Cut] = ()
        self._found: list[Edit] = []
        """What went from the record that was applied last."""
        self._learning = False
        self._direct = self._hidden = True
        self._looked: dict[int, Hits] = {}
        """Where in the texts of the row that is learned something may be, by their hashes."""
        self._looks_wider = drops or (policy is not None and policy.may_hold(b""))
        """More than the rules is looked for: texts are gone through in any case."""
        self._aside = False
        """The text is none of a record's."""
        self._spans: dict[int, list[Span]] | None = {}
        """What was found in strings while learning, by their hashes; None when that are too many to keep."""

    def __repr__(self) -> str:
        return "SecretRedactor()"

    # ------------------------------------------------------------------------------------------------ the contract

    def begin(self) -> None:
        """Start a new family: forget what was learned of the last one."""
        self.registry.clear()
        if self._policy is not None:
            self._policy.begin()
        if self._learned:
            self._marks, self._disguised = Marks(), Marks()
        self._learned = False
        self._telling.begin()
        self._streams.clear()
        self._spans = {}
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
        self._learned = True
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
        self._spans = None
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
        self._learned = True
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
        self._learning = False
        self._cuts = ()
        return [self._place(edit) for _, edit in self._edits(record)] if self._has_something(record) else []

    def _has_something(self, record: Record) -> bool:
        """Return whether a record has to be gone through."""
        place = place_of(record)
        is_marked = not self._learned or place in self._marks
        self._direct, self._hidden = False, not self._learned or place in self._disguised
        if is_marked and self._learned and self._spans is not None:
            # It was gone through when it was learned, and what was found in it is known.
            self._direct = True
            return True
        if is_marked and self._may_hold(self._look.serialised(record)):
            return True
        # Where nothing was found before, there is only what is known from elsewhere.
        self._direct = False
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
        self._direct, self._hidden = opens > 0, opens > 1
        if opens or (self._policy is not None and self._policy.may_hold(raw)):
            return True
        return self._sieve.media is not None and BEGINS.search(raw) is not None

    def _learn(self, record: Record) -> None:
        self._learning = True
        if type(record.data) is dict and record.raw is not None:
            self._streams.take(record, place_of(record), self._in_pieces)
        self._looked = {}
        opened = self._may_hold(self._look.serialised(record))
        self._learn_opened(record, opened=opened)

    def _learn_all(self, records: Sequence[Record]) -> None:
        """Learn from rows and texts: one look at all of them tells which have to be gone through."""
        self._learning = True
        try:
            looks = list(self._look.over([record.data for record in records]))
        except Exception:
            # Which of them it is shows when each is looked at by itself.
            for record in records:
                self._guarded(self._learn_one, record)
            return
        for record, (depth, self._looked) in zip(records, looks, strict=True):
            self._direct, self._hidden = depth > 0, depth > 1
            self._guarded(self._learn_opened if depth else self._learn_closed, record)

    def _learn_one(self, record: Record) -> None:
        ((depth, self._looked),) = self._look.over([record.data])
        self._direct, self._hidden = depth > 0, depth > 1
        self._learn_opened(record, opened=depth > 0)

    def _learn_closed(self, record: Record) -> None:
        self._learn_opened(record, opened=False)

    def _learn_opened(self, record: Record, *, opened: bool = True) -> None:
        self._telling.looked(self._session, opened=opened)
        if not opened:
            return
        if self._hidden:
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
        found = self._judge(text, (), FULL)
        for hit in found:
            self.registry.add(hit.value, hit.rule, hit.strength)
        return found

    # ------------------------------------------------------------------------------------------------ applying

    def _apply(self, record: Record) -> Record:
        key = self._key(record)
        self._learning = False
        self._found = []
        self._cuts = self._streams.cuts(place_of(record))
        if self._has_something(record) or self._cuts:
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
        data, raw = record.data, record.raw
        sieve, judge, least = self._quick if self._learning else self._sieve, self._judge, self._least
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
            if odd and len(column) >= least and self._may_be_told(column):
                found += [(ColumnName(column), edit) for edit in edits_of(judge(column, (), FULL))]
            if type(value) is str and self._is_idle(value, column):
                continue
            if type(value) is int:
                found += [(column, edit) for edit in edits_of(judge(str(value), (column,), NUMBER))]
            elif value is not None and type(value) is not float and type(value) is not bool:
                found += [(column, edit) for edit in edits(text_of(value), sieve, (column,), mode_of(column))]
        return found

    def _may_be_told(self, column: str) -> bool:
        """Return whether something may be in the name of a column."""
        if self._looks_wider or self._look.is_telling(column):
            return True
        looks = not self._learning and self.registry.is_looked_for
        return looks and self.registry.holds(column.encode("utf-8", "surrogatepass"))

    def _is_idle(self, text: str, column: str) -> bool:
        """Return whether it is known of a column's text that nothing is in it."""
        if self._look.is_named((column,)) or self._looks_wider:
            return False
        if self._learning:
            hits = self._looked.get(hash(text))
            return hits is not None and not hits
        if self._aside or self._cuts or self._spans is None or text[:1] in _BEFORE_JSON or hash(text) in self._spans:
            return False
        return not (self.registry.is_looked_for and self.registry.holds(text.encode("utf-8", "surrogatepass")))

    def _spots(self, text: str) -> Sequence[Spot] | None:
        """Return where in a text that is JSON something stands that a string may have to go for, None where all may have to."""
        if self._looks_wider or self._cuts or self._aside or self._hidden:
            return None
        direct: Sequence[Spot] | None = []
        if self._direct and (self._learning or self._spans is None or not self._learned):
            hits = self._looked.get(hash(text)) if self._learning else None
            if hits is None:
                hits = self._look.text(text)
            direct = sorted((at, number) for number, starts in hits.items() for at in starts) if hits is not None else None
        if self._learning or direct is None or not self.registry.is_looked_for:
            return direct
        known = self.registry.spots(text)
        return sorted([*direct, *((at, -1) for at in known)]) if known is not None else None

    def _noted(self, text: str, hits: Hits) -> None:
        self._looked[hash(text)] = hits

    def _says_nothing(self, text: str, names: tuple[str, ...]) -> bool:
        """Return whether a string need not be judged in which nothing stands, by the names that it stands under."""
        if names and self._direct and self._look.is_named(names):
            return False
        if self._learning:
            return True
        # What is known of the strings of JSON within it, and what their names say, is not known of itself.
        return text[:1] not in _BEFORE_JSON and not (self._spans and hash(text) in self._spans)

    # ------------------------------------------------------------------------------------------------ judging

    def _judge(self, text: str, names: tuple[str, ...], mode: int) -> list[Hit]:
        """Return what of a string has to go."""
        spans: list[Span] = []
        if mode == FULL:
            if len(text) >= self._least:
                if self._direct and len(text) >= _SHORTEST:
                    spans += self._spans_of(text)
                if self._policy is not None:
                    spans += self._policy.find(text)
        elif mode == STRONG_ONLY and self._direct:
            spans += [span for span in self._spans_of(text) if span.strength >= STRONG]
        if mode == NUMBER:
            if self._direct and self._look.is_named_number(names):
                named = self._engine.named_value(names, int(text))
                spans += [Span(0, len(text), named.rule, named.strength)] if named is not None else []
        elif mode != STRONG_ONLY and names and self._direct and self._look.is_named(names):
            named = self._engine.named_value(names, text)
            spans += [named] if named is not None else []
        hits = [self._hit(text, span) for span in spans] if spans else []
        if not self._learning and self.registry.is_looked_for and mode != NAMED:
            known = self.registry.find(text)
            known += self.registry.find_disguised(text, known, hidden=self._hidden)
            if mode == NUMBER:
                known = [hit for hit in known if (hit.start, hit.end) == (0, len(text))]
            if known:
                hits += [hit._replace(new=self._placeholder(hit.rule, hit.value)) for hit in known]
        if self._cuts and not self._learning:
            hits += [
                Hit(cut.start, cut.start + len(cut.text), cut.rule, STRONG, cut.value, self._placeholder(cut.rule, cut.value))
                for cut in self._cuts
                if text.startswith(cut.text, cut.start)
            ]
        if not hits:
            return hits
        if self._policy is not None:
            hits = [hit for hit in hits if not self._policy.allows(hit.value, hit.rule)]
        return self._settled(text, hits) if len(hits) > 1 else hits

    def _spans_of(self, text: str) -> list[Span]:
        """Return what the engine finds in a string; what it found while learning is not looked for again."""
        kept = self._spans
        if self._learning or kept is None or not self._learned or self._aside:
            hits = self._looked.get(hash(text)) if self._learning else None
            spans = self._engine.find(text, hidden=self._hidden and hits is None, hits=hits)
            if spans and self._learning and kept is not None:
                self._keep(text, spans)
            return spans
        return kept.get(hash(text), [])

    def _keep(self, text: str, spans: list[Span]) -> None:
        if self._spans is not None and len(self._spans) < _MOST_KEPT:
            self._spans[hash(text)] = spans
        else:
            self._spans = None

    def _hit(self, text: str, span: Span) -> Hit:
        value = text[span.start : span.end]
        if not self._learning:
            value = self.registry.original(value) or value
        return Hit(span.start, span.end, span.rule, span.strength, value, self._placeholder(span.rule, value))

    def _placeholder(self, rule: str, value: str) -> str:
        if self._learning:
            return ""
        other = self._policy.placeholder(rule, value) if self._policy is not None else None
        return other if other is not None else spelled(self.registry.rule_of(value) or rule, self._tags.tag(value))

    def _settled(self, text: str, hits: list[Hit]) -> list[Hit]:
        """Return hits in order; of those that overlap one is left: the first one, stretched over the others."""
        out: list[Hit] = []
        for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.again, -hit.strength)):
            if out and hit.start < out[-1].end:
                last = out[-1]
                if hit.end > last.end:
                    value = text[last.start : hit.end]
                    rule = last.rule if last.strength >= hit.strength else hit.rule
                    strength = max(last.strength, hit.strength)
                    out[-1] = Hit(last.start, hit.end, rule, strength, value, self._placeholder(rule, value))
                continue
            out.append(hit)
        return out

    def _loose(self, text: str, mode: int) -> str:
        self._learning, self._direct, self._hidden, self._cuts = False, True, True, ()
        self._aside = True
        try:
            found = edits(text, self._sieve) if mode == FULL else edits_of(self._judge(text, (), mode))
            return applied(text, found) if found else text
        except SatchelError:
            raise
        except Exception as error:
            failure = self._failure(error, None)
        finally:
            self._aside = False
        raise failure

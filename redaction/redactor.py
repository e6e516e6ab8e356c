"""
The redactor: removes secrets from the records of a family of sessions, in two passes over them.

The first pass learns what is secret, the second takes it out. A record is looked at as it is serialised first, in one go; only
where something may be in it are its strings gone through. What was not changed is the same record after as before.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from satchel.contracts import Record
from satchel.errors import JsonError, RedactionError, SatchelError
from satchel.jsontext import RawText, dumps, loads
from satchel.redaction.gate import Gate
from satchel.redaction.literals import Hits
from satchel.redaction.nested import FULL, NAMED, NUMBER, STRONG_ONLY, Edit, Sieve, applied, edits, media_type, mode_of
from satchel.redaction.registry import Forms, Hit, Registry
from satchel.redaction.rules import RuleSet
from satchel.redaction.spans import MEDIUM, STRONG, Span
from satchel.redaction.streams import Cut, Streams
from satchel.redaction.tags import TagKey

__all__ = ["Finder", "Place", "Policy", "Report", "SecretRedactor"]


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
        Say of texts what `opens` says, and where in them something may be: by number, of those it may be in; None where that cannot
        be told.
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


_BITS = 20
_MASK = (1 << _BITS) - 1
_MOST_KEPT = 1 << 16
_SHORTEST = 10
"""No string that is shorter is a name with its value, or a token."""
_BEFORE_JSON = frozenset("{[ \t\r\n\ufeff\0")
_AT_ONCE, _MOST_AT_ONCE = 1 << 18, 512
"""So many characters of rows are looked at together, of so many rows."""
_NOTHING: Hits = {}
_LONGEST_PLACE = 80
_MOST_COLUMNS = 4096


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
        self._report = report
        given = policy.given if policy is not None else {}
        self._least = min([6, *map(len, given)])
        drops = policy is not None and policy.drop_media
        self._sieve = Sieve(
            self._judge, self._least, self._omitted if drops else None, spots=self._spots, idle=self._says_nothing
        )
        self._quick = self._sieve._replace(places=False)
        order = [rule.id for rule in engine.rules.rules]
        self.registry = Registry(order=order, given=given, forms=forms, native=native)
        """What was found in this family; a gate looks for it in what is written."""
        self._session = ""
        self._marks = bytearray(1 << (_BITS - 3))
        self._disguised = bytearray(1 << (_BITS - 3))
        """Which records are to be read otherwise too: what is known from elsewhere may be disguised in them."""
        self._learned = False
        self._counts: dict[tuple[str, str], Counter[str]] = {}
        self._told: dict[tuple[str, str], int] = {}
        self._shown: dict[str, str] = {}
        """What sessions are called in the report, by their ids."""
        self._named: dict[tuple[str, ...], bool] = {}
        self._columns: dict[tuple[str, ...], bool] = {}
        self._telling: dict[str, bool] = {}
        self._streams = Streams()
        self._cuts: Sequence[Cut] = ()
        self._found: list[Edit] = []
        """What went from the record that was applied last."""
        self._learning = False
        self._direct = self._hidden = True
        self._seen: dict[int, list[Span]] = {}
        """What was found in the texts of the row that is learned, by their hashes."""
        self._looked: dict[int, Hits] = {}
        """Where in these something may be."""
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
            self._marks = bytearray(len(self._marks))
            self._disguised = bytearray(len(self._disguised))
        self._learned = False
        self._told.clear()
        self._shown.clear()
        self._counts.clear()
        self._streams.clear()
        self._spans = {}
        self._session = ""

    def enter(self, session_id: str, /) -> None:
        """Say whose records come next: for the report, and for the place in an error."""
        self._session = session_id
        if self._report is not None and session_id:
            shown = self._called(session_id)
            if self._shown.setdefault(session_id, shown) != shown:
                self._report.rename(self._shown[session_id], shown)
                self._shown[session_id] = shown

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
        rows: list[Record] = []
        size = 0
        for record in records:
            is_row = record.raw is None and type(record.data) is dict and not self._looks_wider
            if is_row:
                rows.append(record)
                size += sum([len(value) for value in record.data.values() if type(value) is str])
                if size < _AT_ONCE and len(rows) < _MOST_AT_ONCE:
                    continue
            self._learn_rows(rows)
            rows, size = [], 0
            if not is_row:
                self._guarded(self._learn, record)
        self._learn_rows(rows)

    def apply(self, records: Iterable[Record], /) -> Iterator[Record]:
        """
        Yield a session's records without what is secret, those that hold nothing of it as they are.

        Raises:
            RedactionError: It can't be told for a record.
        """
        registry, session = self.registry, self._session
        self._streams.settle((value, registry.rule_of(value) or "") for value in registry.spreading)
        counts: Counter[str] = Counter()
        scope, told = (session, ""), 0
        for number, record in enumerate(records):
            if not number:
                # What a session's records were made of may be gone through after them.
                scope = (session, record.kind)
                told = self._told.get(scope, 0)
            new = self._guarded(self._apply, record)
            if self._found:
                counts.update(self.registry.rule_of(edit.hit.value) or edit.hit.rule for edit in self._found)
                if number >= told and self._report is not None:
                    # A session may be gone through more than once, and not to its end.
                    self._tell(self._report, session, record, self._found)
                    told = self._told[scope] = number + 1
            yield new
        self._counts[scope] = counts

    def file(self, lines: Iterable[bytes], /, *, whole: bool) -> Iterator[bytes]:
        """Yield a file of a session that was learned without what is secret, line by line, or as a `whole`."""
        if whole:
            lines = [b"".join(lines)]
        # No line of it was learned.
        self._spans = None
        for number, line in enumerate(lines, 1):
            record = Record("line", number, None, line)
            if self._may_hold(line):
                self._mark(record)
            yield self._guarded(self._apply, record).raw

    def counts(self, session_id: str, /) -> Mapping[str, int]:
        """Return what was taken out of a session that was applied to its end, by rule, and how often."""
        total: Counter[str] = Counter()
        for (session, _), counts in self._counts.items():
            if session == session_id:
                total += counts
        return total

    def gate(self) -> Gate:
        """Return the gate of a run that begins."""
        if self._report is not None:
            self._report.clear()
        allows = self._policy.allows if self._policy is not None else lambda value, rule: False
        return Gate(self._engine, self.registry, allows=allows, report=self._report)

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
        at = hash((record.kind, record.key)) & _MASK
        is_marked = not self._learned or self._marks[at >> 3] & 1 << (at & 7) != 0
        self._direct = False
        if not ((is_marked and self._may_hold(self._serialised(record))) or self._may_have_more(record)):
            return []
        self._direct = self._direct and is_marked
        return [self._place(edit) for _, edit in self._edits(record)]

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
        where = "a text outside the records" if record is None else _place(record)
        # For a text outside the records it could not be told what of the session's id is secret.
        called = self._called(self._session) if self._session and record is not None else ""
        session = f" of session {called[:_LONGEST_PLACE]}" if called else ""
        return RedactionError(
            f"secrets could not be removed{by}: {type(error).__name__} at {where}{session}; nothing of it was written",
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
        return self._sieve.media is not None and _MEDIA.search(raw) is not None

    def _learn(self, record: Record) -> None:
        if type(record.data) is dict and record.raw is not None:
            self._learning = True
            self._streams.take(record, hash((record.kind, record.key)), self._in_pieces)
        self._seen.clear()
        self._looked.clear()
        self._learn_from(record, opened=self._may_hold(self._serialised(record)))

    def _learn_rows(self, records: Sequence[Record]) -> None:
        """Learn from rows: one look at the texts of all of them tells which of them have to be gone through."""
        least, texts = self._least, []
        ends: list[int] = []
        for record in records:
            texts += [value for value in record.data.values() if type(value) is str and len(value) >= least]
            ends.append(len(texts))
        try:
            found = self._engine.look(texts)
        except Exception:
            if len(records) == 1:
                raise
            # Which of them it is shows when each is looked at by itself.
            for record in records:
                self._guarded(lambda one: self._learn_rows([one]), record)
            return
        begin = 0
        for record, end in zip(records, ends, strict=True):
            row = record.data
            deepest = int(self._is_odd_row(row))
            for number in range(begin, end) if found else ():
                if number in found:
                    deepest = max(deepest, found[number][0])
            for value in row.values():
                if type(value) not in _USUAL and self._engine.opens(_bytes(value)):
                    deepest = 2
            if deepest:
                self._seen.clear()
                self._looked.clear()
                for number in range(begin, end):
                    _, hits = found.get(number, (0, _NOTHING))
                    if hits is _NOTHING:
                        self._seen[hash(texts[number])] = []
                    elif hits is not None:
                        self._looked[hash(texts[number])] = hits
            self._direct, self._hidden = deepest > 0, deepest > 1
            self._guarded(lambda one: self._learn_from(one, opened=deepest > 0), record)  # noqa: B023
            begin = end

    def _learn_from(self, record: Record, *, opened: bool) -> None:
        self._learning = True
        if self._report is not None:
            self._report.looked(self._shown.get(self._session, self._session), opened=opened)
        if not opened:
            return
        if self._hidden:
            at = hash((record.kind, record.key)) & _MASK
            self._disguised[at >> 3] |= 1 << (at & 7)
        found = self._edits(record)
        for _, edit in found:
            hit = edit.hit
            if hit.rule == _MEDIA_RULE:
                continue
            self.registry.add(hit.value, hit.rule, hit.strength)
            if hit.strength >= STRONG and len(hit.value) > _LONGEST_LINE:
                # A key of several lines may stand elsewhere in another layout, or in part.
                for line in _KEY_LINE.findall(hit.value):
                    self.registry.add(line, hit.rule, hit.strength)
        if found:
            self._mark(record)

    def _is_odd_row(self, row: Mapping[str, Any]) -> bool:
        """Return whether the name of one of a row's columns says that a secret is in it, or is one."""
        columns = tuple(row)
        odd = self._columns.get(columns)
        if odd is None:
            if len(self._columns) > 256:
                self._columns.clear()
            odd = self._columns[columns] = any(map(self._is_odd, columns))
        return odd

    def _mark(self, record: Record) -> None:
        """Note that a record has to be opened; of many there are more than are marked, so that memory is bounded."""
        at = hash((record.kind, record.key)) & _MASK
        self._marks[at >> 3] |= 1 << (at & 7)

    def _in_pieces(self, text: str) -> Sequence[Hit]:
        """Find what is secret in the joined pieces of a stream."""
        if not self._may_hold(text.encode("utf-8", "surrogatepass")):
            return ()
        found = self._judge(text, (), FULL)
        for hit in found:
            self.registry.add(hit.value, hit.rule, hit.strength)
        return found

    def _serialised(self, record: Record) -> bytes:
        """Return all that a record says in one piece."""
        raw = record.raw
        if raw is not None:
            # Files that are read as a whole say the same twice; what differs is looked at closely.
            return raw if record.kind == "line" or not isinstance(record.data, dict | list) else raw + b"\n" + _json(record.data)
        data = record.data
        if type(data) is str and ("\\b" in data or "\\r" in data):
            # It may be JSON itself, whose escapes are spelled so only in the text as it is.
            return _json(data) + b"\n" + data.encode("utf-8", "surrogatepass")
        if type(data) is not dict:
            return _json(data)
        # Nearly all values of a row are texts, times and nothing. As JSON, since disguises are looked for as that spells them.
        text = _json([value for value in data.values() if type(value) is str])
        rest = [_json(_bytes(value).decode("utf-8", "replace")) for value in data.values() if type(value) not in _USUAL]
        if self._is_odd_row(data):
            rest.append(_json({key: value for key, value in data.items() if type(value) in (str, int)}))
        return b"\n".join((text, *rest)) if rest else text

    def _plainly(self, record: Record) -> bytes:
        """Return all that a record says, in which nothing is disguised, with its letters and digits as they are."""
        data = record.data
        if record.raw is not None or type(data) is not dict or not all(type(value) in _USUAL for value in data.values()):
            return self._serialised(record)
        return "\n".join([*data, *(value for value in data.values() if type(value) is str)]).encode("utf-8", "surrogatepass")

    def _is_odd(self, column: str) -> bool:
        """Return whether the name of a column says that a secret is in it, or is one."""
        return self._is_named((column,)) or bool(self._engine.find(column))

    # ------------------------------------------------------------------------------------------------ applying

    def _apply(self, record: Record) -> Record:
        key = self._key(record)
        self._learning = False
        self._found = []
        self._direct = False
        place = hash((record.kind, record.key))
        self._cuts = self._streams.cuts(place)
        at = place & _MASK
        is_marked = not self._learned or self._marks[at >> 3] & 1 << (at & 7) != 0
        self._hidden = not self._learned or self._disguised[at >> 3] & 1 << (at & 7) != 0
        if is_marked and self._learned and self._spans is not None:
            # It was gone through when it was learned, and what was found in it is known.
            self._direct = opened = True
        else:
            opened = is_marked and self._may_hold(self._serialised(record))
        if opened or self._cuts or self._may_have_more(record):
            # Where nothing was found before, there is only what is known from elsewhere.
            self._direct = self._direct and is_marked
            found = self._edits(record)
            self._found = [edit for _, edit in found]
            if found:
                return self._changed(record, found, key)
        return record if key is record.key else Record(record.kind, key, record.data, record.raw, record.plain)

    def _may_have_more(self, record: Record) -> bool:
        """Return whether a record may hold what was not seen in it when it was learned: what was known only later."""
        policy = self._policy
        if self.registry.is_looked_for:
            at = hash((record.kind, record.key)) & _MASK
            if self._disguised[at >> 3] & 1 << (at & 7):
                return True
            serialised = record.json or self._plainly(record)
            return self.registry.holds(serialised) or (policy is not None and policy.may_hold(serialised))
        return policy is not None and policy.may_hold(record.json or self._serialised(record))

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
            if not _is_said_by(raw, data):
                found += [(_DATA, edit) for edit in edits(_exact(data), sieve)]
            return found
        if isinstance(data, str):
            return [(None, edit) for edit in edits(data, sieve)]
        if not _is_row(data):
            return [(_DATA, edit) for edit in edits(_exact(data), sieve)]
        found = []
        odd = self._columns.get(tuple(data), True)
        seen = self._seen if self._learning else {}
        for column, value in data.items():
            if odd and len(column) >= least and self._may_be_told(column):
                found += [(_Name(column), edit) for edit in _of_hits(judge(column, (), FULL))]
            if type(value) is str and self._is_idle(value, column, seen):
                continue
            if type(value) is int:
                found += [(column, edit) for edit in _of_hits(judge(str(value), (column,), NUMBER))]
            elif value is not None and type(value) is not float and type(value) is not bool:
                found += [(column, edit) for edit in edits(_text(value), sieve, (column,), mode_of(column))]
        return found

    def _may_be_told(self, column: str) -> bool:
        """Return whether something may be in the name of a column."""
        if self._looks_wider:
            return True
        if (telling := self._telling.get(column)) is None:
            if len(self._telling) > _MOST_COLUMNS:
                self._telling.clear()
            telling = self._telling[column] = bool(self._engine.find(column))
        return telling or (
            not self._learning and self.registry.is_looked_for and self.registry.holds(column.encode("utf-8", "surrogatepass"))
        )

    def _spots(self, text: str) -> Sequence[int] | None:
        """Return where in a text that is JSON something stands that a string may have to go for, None where all may have to."""
        if self._looks_wider or self._cuts or self._aside or self._hidden:
            return None
        direct: Sequence[int] | None = ()
        if self._direct and (self._learning or self._spans is None or not self._learned):
            hits = self._looked.get(hash(text)) if self._learning else None
            if hits is None:
                _, hits = self._engine.look([text]).get(0, (0, _NOTHING))
            direct = sorted(at for starts in hits.values() for at in starts) if hits is not None else None
        if self._learning or direct is None or not self.registry.is_looked_for:
            return direct
        known = self.registry.spots(text)
        return sorted([*direct, *known]) if known is not None and direct else known

    def _says_nothing(self, text: str, names: tuple[str, ...]) -> bool:
        """Return whether a string need not be judged in which nothing stands, by the names that it stands under."""
        if names and self._direct and self._is_named(names):
            return False
        if self._learning or not self._spans:
            return True
        # What is known of the strings of JSON within it is not known of itself.
        return text[:1] not in _BEFORE_JSON and hash(text) not in self._spans

    def _is_idle(self, text: str, column: str, seen: Mapping[int, list[Span]]) -> bool:
        """Return whether it is known of a column's text that nothing is in it."""
        if self._is_named((column,)) or self._looks_wider:
            return False
        if self._learning:
            return seen.get(hash(text)) == []
        if self._aside or self._cuts or self._spans is None or text[:1] in _BEFORE_JSON or hash(text) in self._spans:
            return False
        return not (self.registry.is_looked_for and self.registry.holds(text.encode("utf-8", "surrogatepass")))

    def _changed(self, record: Record, found: Sequence[tuple[Any, Edit]], key: Any) -> Record:
        data, raw = record.data, record.raw
        of_text = [edit for part, edit in found if part is None]
        of_data = [edit for part, edit in found if part is _DATA]
        if raw is not None:
            new = applied(raw.decode("utf-8", "surrogateescape"), of_text)
            bare = new.encode("utf-8", "surrogateescape")
            if isinstance(data, str):
                data = new
            elif of_data:
                data = loads(applied(_exact(data), of_data))
            elif data is not None and of_text and _is_said_by(raw, data):
                data = loads(bare)
            return Record(record.kind, key, data, bare, record.plain)
        if isinstance(data, str):
            return Record(record.kind, key, applied(data, of_text), None, record.plain)
        if of_data:
            return Record(record.kind, key, loads(applied(_exact(data), of_data)), None, False)
        row: dict[str, Any] = {}
        plain = record.plain
        for column, value in data.items():
            own = [edit for part, edit in found if part == column and type(part) is str]
            name = applied(column, [edit for part, edit in found if type(part) is _Name and part == column])
            while name != column and (name in data or name in row):
                name += "+"
            plain = plain and name == column
            row[name] = _restored(value, own) if own else value
        return Record(record.kind, key, row, None, plain)

    # ------------------------------------------------------------------------------------------------ judging

    def _is_named(self, names: tuple[str, ...]) -> bool:
        """Return whether a value under these names can be secret for their sake."""
        known = self._named.get(names)
        if known is None:
            if len(self._named) > 20_000:
                self._named.clear()
            probe: str | int = _PROBE_NUMBER if names[-1:] == ("",) else _PROBE
            known = self._named[names] = self._engine.named_value(names, probe) is not None
        return known

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
            if self._direct and self._is_named_number(names):
                named = self._engine.named_value(names, int(text))
                spans += [Span(0, len(text), named.rule, named.strength)] if named is not None else []
        elif mode != STRONG_ONLY and names and self._direct and self._is_named(names):
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
        if self._learning and (seen := self._seen.get(hash(text))) is not None:
            if seen and kept is not None:
                self._keep(text, seen)
            return seen
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

    def _is_named_number(self, names: tuple[str, ...]) -> bool:
        key = (*names, "\0")
        known = self._named.get(key)
        if known is None:
            known = self._named[key] = self._engine.named_value(names, _PROBE_NUMBER) is not None
        return known

    def _hit(self, text: str, span: Span) -> Hit:
        value = text[span.start : span.end]
        if not self._learning:
            value = self.registry.original(value) or value
        return Hit(span.start, span.end, span.rule, span.strength, value, self._placeholder(span.rule, value))

    def _placeholder(self, rule: str, value: str) -> str:
        if self._learning:
            return ""
        other = self._policy.placeholder(rule, value) if self._policy is not None else None
        return other if other is not None else f"[REDACTED:{self.registry.rule_of(value) or rule}:{self._tags.tag(value)}]"

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
            found = edits(text, self._sieve) if mode == FULL else _of_hits(self._judge(text, (), mode))
            return applied(text, found) if found else text
        except SatchelError:
            raise
        except Exception as error:
            failure = self._failure(error, None)
        finally:
            self._aside = False
        raise failure

    # ------------------------------------------------------------------------------------------------ telling

    def _tell(self, report: Report, session: str, record: Record, found: Sequence[Edit]) -> None:
        session = self._shown.get(session, session)
        for edit in found:
            hit = edit.hit
            if hit.rule == _MEDIA_RULE:
                report.media(session)
                continue
            report.found(
                rule=self.registry.rule_of(hit.value) or hit.rule,
                strength=hit.strength,
                tag=self._tags.tag(hit.value),
                session=session,
                kind=record.kind,
                names=edit.names,
                again=hit.again,
            )
        report.changed(session)

    def _omitted(self, text: str) -> Hit | None:
        """Return what comes in the place of a picture or the like."""
        kind, size = media_type(text)
        return Hit(0, len(text), _MEDIA_RULE, MEDIUM, text, f"[omitted: {kind}, {size} bytes]")


# ---------------------------------------------------------------------------------------------------------- parts of a record

_PROBE = "x9K2mQ7vT4bW8nR3pL6z"
_PROBE_NUMBER = 48213977
_LONGEST_LINE = 128
_KEY_LINE = re.compile(r"(?:(?<=\n\+)|(?<![A-Za-z0-9+/])(?!(?<=\n)\+))(?!b3BlbnNzaC1rZXk)[A-Za-z0-9+/]{48,76}(?![A-Za-z0-9+/])")
"""A line of base64 in a key, but for the first one of OpenSSH, which is the same in all of them."""
_MEDIA = re.compile(rb"iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|T2dnU|SUQz|//[sv]|ZkxhQ|d09G|GkXfo|UEsDB|Qk[0-3]|SUkq|TU0A")
"""How base64 of media begins."""
_MEDIA_RULE = "media"
_DATA = object()
"""The part of a record that its data is, where it has no text of its own."""
_USUAL = frozenset([str, int, float, bool, type(None)])
_FLAT = _USUAL | {bytes, RawText}


class _Name(str):
    """The name of a column, as a part of a record."""

    __slots__ = ()


def _of_hits(hits: Iterable[Hit]) -> list[Edit]:
    return [Edit(hit.start, hit.end, hit.new, hit, ()) for hit in hits]


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.data if isinstance(value, RawText) else _json(value)


def _text(value: Any) -> str:
    """Return a column's value as text in which every byte that is none is a character of its own."""
    if isinstance(value, str):
        return value
    return _bytes(value).decode("utf-8", "surrogateescape")


def _restored(value: Any, own: Sequence[Edit]) -> Any:
    """Return a column's value with its edits made, of the type that it was; a number becomes a text."""
    if isinstance(value, str):
        return applied(value, own)
    if isinstance(value, int):
        return own[0].new
    data = applied(_text(value), own).encode("utf-8", "surrogateescape")
    return RawText(data) if isinstance(value, RawText) else data


def _json(data: Any) -> bytes:
    try:
        return dumps(data)
    except JsonError:
        import json

        return json.dumps(data, default=str).encode()


def _exact(data: Any) -> str:
    """Return JSON that gives the same value again, NaN and halves of surrogate pairs too."""
    import json

    return json.dumps(data)


def _is_row(data: Any) -> bool:
    return type(data) is dict and all(type(value) in _FLAT for value in data.values())


def _is_said_by(raw: bytes, data: Any) -> bool:
    """Return whether a record's bytes say all that its data say."""
    if data is None:
        return True
    if isinstance(data, str):
        return raw == data.encode("utf-8", "surrogatepass")
    try:
        return bool(loads(raw) == data)
    except JsonError:
        return False


def _place(record: Record) -> str:
    """Return where a record is, without a word of what it says."""
    key = record.key
    return f"{record.kind} {int(key)}" if isinstance(key, int) else f"a record of {record.kind}"

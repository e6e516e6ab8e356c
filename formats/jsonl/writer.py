"""
Writes sessions as JSON Lines: one line a session, Hermes' own export record with nothing left out.

Messages are written as they are read, so memory holds one message and not a session. Rows that Hermes' importer must not see
(compacted and rewound ones: it would bring them back to life) wait in a spool and follow under `satchel.hidden`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from satchel.contracts import Export, Record, SessionView, Stream, Target, Written
from satchel.errors import UsageError
from satchel.events import Listener
from satchel.formats.carried import copies
from satchel.formats.hermes_rows import (
    DERIVED,
    fact_json,
    is_summary,
    row_json,
    session_json,
    state_of,
    visible_row,
    visible_value,
)
from satchel.formats.jsonl.native import write_native
from satchel.formats.jsonl.record import FEATURES, KNOWN_TABLES, RESERVED, TABLE_KEYS, VERSION, pointer
from satchel.formats.spool import Spool
from satchel.jsontext import dumps, verbatim

if TYPE_CHECKING:
    from satchel.formats.jsonl.mapped import Mapped

__all__ = ["file_name", "layout", "name", "open", "suffix"]

name = "jsonl"
layout: Literal["file"] = "file"
suffix = ".jsonl"
file_name = "sessions.jsonl"

_BATCH = 1 << 18
_NEVER = float("-inf")
_KEY_AND_VALUE = {"key", "value"}


def open(target: Target, *, options: Mapping[str, Any], listen: Listener) -> Export:
    """
    Start an export.

    Options:
        only: "user-prompts" for one line a prompt instead of one line a session.
        raw: Put the original lines of sessions that come from logs under `satchel.native`.

    Raises:
        UsageError: An option is not known.
    """
    unknown = set(options) - {"only", "raw"}
    if unknown:
        raise UsageError(f"the format jsonl has no option {sorted(unknown)[0]}")
    only = options.get("only")
    if only not in (None, "user-prompts"):
        raise UsageError(f"the format jsonl can't write only {only}; there is: user-prompts", subject="only")
    if only:
        from satchel.formats.jsonl.prompts import PromptsExport

        return PromptsExport(target)
    return JsonlExport(target, raw=bool(options.get("raw")))


class JsonlExport:
    """One file of lines."""

    def __init__(self, target: Target, *, raw: bool) -> None:
        self._target = target
        self._raw = raw
        self._lines = 0

    def __enter__(self) -> JsonlExport:
        self._stream: Stream = self._target.stream(file_name)
        self._out = _Out(self._stream)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._out.flush()
            self._target.finish(self._stream)

    def add(self, session: SessionView) -> Written:
        """Write the session's line."""
        self._lines += 1
        mapped: Mapped | None = None
        if session.dialect != "hermes":
            from satchel.formats.jsonl.mapped import Mapped

            mapped = Mapped(session)
        line = _Line(self._out, raw=self._raw)
        try:
            line.write(mapped or session)
        finally:
            line.close()
        if session.redacted:
            self._out.flush()
        return Written(
            file=self._stream.name or None,
            line=self._lines,
            messages=line.live,
            compacted=line.counts["compacted"],
            rewound=line.counts["rewound"],
            content_digest=mapped.content_digest if mapped else None,
            native_digest=line.native_digest,
            losses=dict(sorted((+mapped.losses).items())) if mapped else {},
        )


class _Out:
    """Gathers small pieces, so that the stream gets few large ones. `parts` and `waiting` are open to the loop over messages."""

    __slots__ = ("_stream", "parts", "waiting")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.parts: list[bytes] = []
        self.waiting = 0

    def put(self, data: bytes) -> None:
        self.parts.append(data)
        self.waiting += len(data)
        if self.waiting > _BATCH:
            self.flush()

    def flush(self) -> None:
        if self.parts:
            self._stream.write(b"".join(self.parts) if len(self.parts) > 1 else self.parts[0])
        self.parts.clear()
        self.waiting = 0


class _Line:
    """One line in the making."""

    def __init__(self, out: _Out, *, raw: bool = False) -> None:
        self._out = out
        self._put = out.put
        self._raw = raw
        self._hidden = Spool()
        self._carried = Spool()
        self._exact = Spool()
        self._shown = 0
        self._time = _NEVER
        self._copies = 0
        self.counts = {"compacted": 0, "rewound": 0}
        self.native_digest: str | None = None

    def close(self) -> None:
        """Let go of what was spooled."""
        for spool in (self._hidden, self._carried, self._exact):
            spool.close()

    def write(self, session: SessionView) -> None:
        """Write the whole line."""
        if len(session.ids) == 1:
            records = iter(session.records())
            facts, first = _read_facts(records)
            self._begin(facts, session, -1)
            if first is not None:
                self._message(first, False)
                self._messages(records)
            self._end(session, facts, ())
            return
        # The line bears the newest segment's facts, and they stand before the oldest one's messages.
        found = [_read_facts(iter(session.records(at)))[0] for at in range(len(session.ids))]
        self._begin(found[-1], session, -1)
        # Which messages are copies is known only later on; to read them twice takes less memory than to hold them.
        flags = iter(copies(_says(record) for at in range(len(session.ids)) for record in _messages(session, at)))
        for at in range(len(session.ids)):
            for record in _messages(session, at):
                self._message(record, bool(next(flags)))
        self._end(session, found[-1], found)

    @property
    def live(self) -> int:
        """How many live messages the line holds."""
        return self._shown + self._copies

    # -------------------------------------------------------------------------------------------------- the parts

    def _begin(self, facts: _Facts, session: SessionView, at: int) -> None:
        if facts.row is not None and facts.prompt() is None and RESERVED.isdisjoint(facts.row.data):
            head = session_json(facts.row)
            if facts.row.exact is not None:
                self._note(facts.row.exact)
        else:
            head = dumps(self._session(facts, session, at, ()))
        self._put(head[:-1])
        self._put(b',"messages":[')

    def _session(self, facts: _Facts, session: SessionView, at: int, place: tuple[str | int, ...]) -> dict[str, Any]:
        """Return a session's visible row, its id first; what it can't show is noted under `place`."""
        if facts.row is None:
            info = session.segments[at]
            return {
                "id": info.id,
                "source": info.source,
                "started_at": info.started_at,
                "ended_at": info.ended_at,
                "title": None,
            }
        row, exact = visible_row(facts.row)
        prompt = facts.prompt()
        if prompt is not None:
            # Newer schemas keep the text in a table of its own; Hermes' importer looks for it here.
            row["system_prompt"] = prompt
            exact["system_prompt"] = {"null": True}
        self._note({k: note for k, note in exact.items() if k not in RESERVED}, *place)
        first = {"id": row["id"]} if "id" in row else {}
        last = {name: row[name] for name in DERIVED if name in row}
        return first | {k: row[k] for k in sorted(row) if k not in RESERVED and k != "id" and k not in last} | last

    def _messages(self, records: Iterable[Record]) -> None:
        """Write messages; the loop over all of a store, so live ones with nothing odd about them are written here."""
        out, parts = self._out, self._out.parts
        for record in records:
            row, body = record.data, record.json
            active = row.get("active", 1)
            if (active or active is None) and body is not None and record.exact is None and self._shown:
                time = row.get("timestamp")
                if type(time) is float and time > self._time and time - time == 0.0:
                    self._time = time
                parts.append(b",\t")
                parts.append(body)
                out.waiting += len(body)
                if out.waiting > _BATCH:
                    out.flush()
                self._shown += 1
            else:
                self._message(record, False)

    def _message(self, record: Record, copy: bool) -> None:
        body = record.json or row_json(record)
        row = record.data
        time = row.get("timestamp")
        if type(time) is float and time > self._time and time - time == 0.0:
            self._time = time
        active = row.get("active", 1)
        if (active or active is None) and not copy:
            # Tabs around each row let a line be cut without being parsed (docs/formats/jsonl.md).
            out = self._out
            out.parts += (b",\t" if self._shown else b"\t", body)
            out.waiting += len(body)
            if out.waiting > _BATCH:
                out.flush()
            if record.exact is not None:
                self._note(record.exact, "messages", self._shown)
            self._shown += 1
            return
        state = state_of(row)
        if state != "live":
            self.counts[state] += 1
        else:
            self._copies += 1
        name, spool = ("carried", self._carried) if copy and state == "live" else ("hidden", self._hidden)
        if record.exact is not None:
            self._note(record.exact, "satchel", name, spool.items)
        spool.add(body)

    def _note(self, exact: Mapping[str, Any], *at: str | int) -> None:
        for column, note in exact.items():
            self._exact.add(dumps(pointer(*at, column)) + b":" + dumps(note))

    def _end(self, session: SessionView, facts: _Facts, segments: Sequence[_Facts]) -> None:
        put = self._put
        newest = self._time if self._time > _NEVER else session.info.started_at
        put(b'%s],"last_active":%s,"satchel":{"v":%d' % (b"\t" if self._shown else b"", dumps(newest), VERSION))
        for name, spool in (("hidden", self._hidden), ("carried", self._carried)):
            if spool.items:
                put(b',"%s":[\t' % name.encode())
                spool.pour(put, b",\t")
                put(b"\t]")
        if segments:
            parts = [
                {"session": self._session(f, session, i, ("satchel", "segments", i, "session"))}
                | self._tables(f, ("satchel", "segments", i))
                for i, f in enumerate(segments)
            ]
            put(b',"segments":' + dumps(parts))
        else:
            for key, value in self._tables(facts, ("satchel",)).items():
                put(b"," + dumps(key) + b":" + dumps(value))
        if self._exact.items:
            put(b',"exact":{')
            self._exact.pour(put, b",")
            put(b"}")
        dialect = session.origin()
        if dialect is not None:
            put(b',"dialect":' + dumps(dialect))
            if self._raw:
                self.native_digest = write_native(session, put)
        put(b"}}\n")

    def _tables(self, facts: _Facts, at: tuple[str | int, ...]) -> dict[str, Any]:
        """Return the rows of other tables by the key they stand under."""
        out: dict[str, Any] = {}
        if facts.row is None:
            out["orphan"] = True
        else:
            odd = {k: v for k, v in facts.row.data.items() if k in RESERVED}
            if odd:
                out["columns"] = {k: self._value(v, *at, "columns", k) for k, v in odd.items()}
        shown = facts.prompt() is not None
        for record in facts.others if shown else [*facts.others, *facts.prompts]:
            table = record.kind
            if table == "state_meta" and record.data.keys() == _KEY_AND_VALUE:
                key, meta = record.data["key"], out.get("meta", {})
                if isinstance(key, str) and key not in meta:  # Without a unique key the table may hold it twice.
                    out["meta"] = meta
                    meta[key] = self._value(record.data["value"], *at, "meta", key)
                    continue
            if table in TABLE_KEYS:
                rows, place = out.setdefault(TABLE_KEYS[table], []), (*at, TABLE_KEYS[table])
            else:
                group = "tables" if table in KNOWN_TABLES or table == "system_prompts" else "unknown"
                rows, place = out.setdefault(group, {}).setdefault(table, []), (*at, group, table)
            rows.append(verbatim(fact_json(record)))
            if record.exact is not None:
                self._note(record.exact, *place, len(rows) - 1)
        return {key: out[key] for key in FEATURES if key in out}

    def _value(self, value: Any, *at: str | int) -> Any:
        shown, note = visible_value(value)
        if note is not None:
            self._exact.add(dumps(pointer(*at)) + b":" + dumps(note))
        return shown


def _messages(session: SessionView, at: int) -> Iterator[Record]:
    return (record for record in session.records(at) if record.kind == "messages")


def _says(record: Record) -> tuple[Hashable, bool]:
    row = record.data
    return (row.get("role"), row.get("content"), row.get("tool_calls"), row.get("tool_call_id")), is_summary(row)


class _Facts:
    """The records of a session that stand before its messages."""

    __slots__ = ("others", "prompts", "row")

    def __init__(self) -> None:
        self.row: Record | None = None
        self.others: list[Record] = []
        self.prompts: list[Record] = []

    def prompt(self) -> str | None:
        """Return the text of a system prompt that stands in a table of its own, if the session's row can show it."""
        if self.row is None or len(self.prompts) != 1 or self.row.data.get("system_prompt", "") is not None:
            return None
        data = self.prompts[0].data
        prompt = data.get("prompt")
        return (
            prompt
            if data == {"hash": self.row.data.get("system_prompt_hash"), "prompt": prompt} and type(prompt) is str
            else None
        )


def _read_facts(records: Iterator[Record]) -> tuple[_Facts, Record | None]:
    """Read up to the first message, and return it with what stood before it."""
    facts = _Facts()
    for record in records:
        if record.kind == "messages":
            return facts, record
        if record.kind == "sessions":
            facts.row = record
        elif record.kind == "system_prompts":
            facts.prompts.append(record)
        else:
            facts.others.append(record)
    return facts, None

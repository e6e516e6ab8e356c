"""
The contracts between the parts: what a record and a session are, and what readers, writers, targets and redactors promise.

Only protocols, plain data, and functions that use an ability where it is there, stand here, so that every part may import this
module and none needs another. Everything past the
first argument is keyword-only. `satchel.testing` holds the suites that prove these promises for a reader or a writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from satchel.events import Listener
from satchel.frozen import frozen

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from satchel.formats.model import Entry, Message

__all__ = [
    "Beside",
    "Claim",
    "Contents",
    "Dialect",
    "Drifting",
    "Export",
    "Extents",
    "Files",
    "Gate",
    "Gated",
    "GatedTarget",
    "Kindred",
    "Lineage",
    "Naming",
    "Origins",
    "Reader",
    "Record",
    "Redactor",
    "Scoped",
    "Searching",
    "SessionInfo",
    "SessionView",
    "Sharing",
    "Store",
    "Stream",
    "Target",
    "Telling",
    "Usage",
    "Writer",
    "Written",
    "search",
    "share",
    "write_searched",
]

Dialect = str
"""What the records of a store are: "hermes" (rows of a Hermes database), "claude", "codex", … A plug-in may bring its own."""

Lineage = Literal["continuation", "delegate", "branch", "reset", "child"]
"""Why a session has a parent; "child" is an old run without any mark."""


class Record:
    """
    One database row or one log line, as its store holds it.

    Attributes:
        kind: The table the row is in, or "line" for a log.
        key: What finds it there: the rowid or primary key of a row, the 1-based number of a line.
        data: The row by column name with the database's own values (str, int, float, bytes, None), or the line's parsed JSON.
            Text that is not valid UTF-8 stands as `satchel.jsontext.RawText`.
        raw: The bytes as they stood in a file, and with placeholders in them where redaction changed `data`; None for a row.
        plain: The reader's promise about a message row: its keys are sorted, but for "id", which is last, and floats are finite.
        json: Once made by the dialect, the record as JSON the way an export shows it; what it can't show is in `exact`.
        exact: Notes by column on what `json` could not show (docs/formats/jsonl.md), or None.
    """

    __slots__ = ("data", "exact", "json", "key", "kind", "plain", "raw")

    def __init__(self, kind: str, key: Any, data: Any, raw: bytes | None = None, plain: bool = False) -> None:
        self.kind = kind
        self.key = key
        self.data = data
        self.raw = raw
        self.plain = plain
        self.json: bytes | None = None
        self.exact: dict[str, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"Record({self.kind!r}, {self.key!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (self.kind, self.data, self.raw) == (other.kind, other.data, other.raw)

    __hash__ = None  # type: ignore[assignment]


@frozen(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the agent counted them; 0 where it did not."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(slots=True, kw_only=True)
class SessionInfo:
    """
    Enough of a session to choose, name and list it, got by a cheap scan: no message is parsed for it.

    Times are seconds since the epoch, UTC, or None where the store has none or nonsense. Counts are of rows that were really
    counted, and None where the scan was asked not to count.
    """

    id: str
    format: str
    """Name of the reader ("hermes", "jsonl", …)."""
    agent: str
    """Who wrote the session: "hermes", "claude", "codex"."""
    store: str = ""
    """The store's label, for people: a path, with the profile's name where there is one."""
    profile: str | None = None
    source: str | None = None
    title: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    last_active: float | None = None
    """The newest message's time, else the start; None when the scan did not count."""
    end_reason: str | None = None
    live: bool = False
    archived: bool = False
    pinned: bool = False
    cwd: str | None = None
    git_branch: str | None = None
    git_root: str | None = None
    model: str | None = None
    provider: str | None = None
    user: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    session_key: str | None = None
    parent: str | None = None
    lineage: Lineage | None = None
    messages: int | None = None
    """Live messages: rows of Hermes' record, which each tool result is by itself (`satchel.formats.parted`)."""
    compacted: int | None = None
    rewound: int | None = None
    """Those that were taken back, and those beside the main line; `extra["beside"]` is how many of the latter there are."""
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars: the actual cost, else the estimated one."""
    damaged: bool = False
    """The session's own row is missing or could not be read whole."""
    extra: Mapping[str, Any] = field(default_factory=dict)


@frozen(frozen=True, slots=True, kw_only=True)
class Claim:
    """A reader's word that a path is its own: `why` says by what it was recognised."""

    reader: str
    why: str


class Store(Protocol):
    """
    An opened store: one consistent state of it, for as long as it is open.

    `sessions`, `session` and `records` may be called any number of times, and what they give does not change; so a redactor can
    pass over a session twice.
    """

    format: str
    agent: str
    dialect: Dialect
    conversation: str
    """The kind of those of its records that are the conversation: "messages" for rows, "line" for logs."""
    label: str
    path: Path

    def __enter__(self) -> Store: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None: ...

    def sessions(self, *, counts: bool = True) -> Iterator[SessionInfo]:
        """Yield every session, by start and id; without `counts` the counts and `last_active` stay None, which is cheaper."""
        ...

    def session(self, session_id: str, /, *, counts: bool = True) -> SessionInfo:
        """Return the session of exactly this id. Raises NotFound."""
        ...

    def records(self, session_id: str, /) -> Iterator[Record]:
        """Yield the session's records: facts first (its own row, rows of other tables), then the conversation in order."""
        ...

    def decode(self, records: Iterable[Record], /) -> Iterator[Entry]:
        """Yield the entries that the records say, by their first record; each record is in exactly one entry."""
        ...

    def canonical(self, record: Record, /) -> Sequence[bytes | memoryview]:
        """Return, in pieces, the line that stands for the record in the content digest (docs/formats/digest.md)."""
        ...

    def check(self) -> None:
        """Raise StoreChanged if the store changed in a way that makes what was read not one state."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return what `doctor` shows of the store: JSON-ready, by name."""
        ...


@runtime_checkable
class Drifting(Protocol):
    """What a store can do whose format drifts from version to version: say what of it is not known."""

    def drift(self) -> Mapping[str, Mapping[str, int]]:
        """Return by the agent's version how often each type and key was met that the reader does not know."""
        ...


@runtime_checkable
class Files(Protocol):
    """What a store can do whose sessions are files: say which."""

    def files(self, session_id: str, /) -> Iterator[tuple[str, Path]]:
        """Yield a session's files, its transcript first: the name below the store's root, and the path."""
        ...


@runtime_checkable
class Origins(Protocol):
    """What a store can do whose sessions were another agent's before they were written into it: say whose, and what it kept."""

    def origin(self, session_id: str, /) -> Dialect | None:
        """Return the dialect of the records that a session was made of; None where it has always been in its own."""
        ...

    def native(self, session_id: str, /) -> Iterator[Record] | None:
        """Yield these records, as far as they were kept; None where none were."""
        ...


@runtime_checkable
class Beside(Protocol):
    """
    What a store can do whose sessions a database may hold too: say what of them only it has.

    Its `sessions` are then those that the database does not hold.
    """

    database: Store | None

    def lacking(self, session_id: str, /) -> Iterator[Message]:
        """Yield the messages of a session that the database lacks; none of a session that is not here."""
        ...

    def rest(self, session_id: str, /) -> SessionInfo | None:
        """Return what the database lacks of a session as a session of its own; None where it has everything."""
        ...

    def is_rest(self, session_id: str, /) -> bool:
        """Return whether this is the id of such a session."""
        ...


@runtime_checkable
class Extents(Protocol):
    """What a store can do whose files may grow while they are read: say how far each belongs to what is read."""

    def extent(self, path: Path, /) -> int | None:
        """Return how many bytes of one of its `files` are read, from the first one on; None where all of it is."""
        ...


class Reader(Protocol):
    """A format that can be read. A module or an object with these three."""

    name: str

    def sniff(self, path: Path, /) -> Claim | None:
        """Say by its content, never by its name alone, whether the path is of this format."""
        ...

    def open(self, path: Path, /, *, listen: Listener, private: bool = False) -> Store:
        """Open the store at the path; with `private`, from a copy that nobody else can change. Raises StoreError."""
        ...


@runtime_checkable
class Naming(Protocol):
    """What a reader can do whose agent names a session's file after it: say how, for one that comes without a name."""

    def own_name(self, path: Path, /) -> str | None:
        """Return the name, without a folder, that its agent would give the file at a path; None where that is not to be told."""
        ...


class Stream(Protocol):
    """A file being written by a Target: written once, in order. `name` is relative to the target; "" for a pipe."""

    @property
    def name(self) -> str: ...

    def write(self, data: bytes, /) -> object: ...


@runtime_checkable
class Searching(Protocol):
    """What a stream can do that is searched on the way: take what is written in another form, compressed say, or later."""

    def search(self, data: bytes, /) -> None:
        """Search bytes that are not written as they are, or not now. Raises RedactionError."""
        ...

    def write_searched(self, data: bytes, /) -> None:
        """Write bytes that say what was searched."""
        ...


def search(stream: Stream, data: bytes) -> None:
    """Have bytes searched that will be written later, or in another form: now it is known for what. Raises RedactionError."""
    if isinstance(stream, Searching):
        stream.search(data)


def write_searched(stream: Stream, data: bytes) -> None:
    """Write bytes that were searched before, or that say what was."""
    if isinstance(stream, Searching):
        stream.write_searched(data)
    else:
        stream.write(data)


@runtime_checkable
class Sharing(Protocol):
    """What a target can do that outlasts a run: hold files that several runs, or sessions, have in common."""

    def whole(self, name: str, data: bytes, /) -> None:
        """Write a file at once; one that is there already with these bytes stays."""
        ...


def share(target: Target, name: str, data: bytes) -> None:
    """Write a file at once that several runs may have in common. Raises what the target raises."""
    if isinstance(target, Sharing):
        target.whole(name, data)
        return
    stream = target.stream(name)
    stream.write(data)
    target.finish(stream)


class Target(Protocol):
    """Where output goes. Writers never open files: they ask the target for streams by relative name."""

    def stream(self, name: str | None = None, /) -> Stream:
        """Start a file (for a single-file target: the one file, whose name is given already) and return its stream."""
        ...

    def finish(self, stream: Stream, /) -> None:
        """Say that the stream is complete."""
        ...


@frozen(frozen=True, slots=True, kw_only=True)
class Written:
    """
    What a writer made of one session.

    Attributes:
        file: Relative name of the file it went into, or None for stdout.
        line: 1-based line in that file, where one line is one session, else None.
        messages, compacted, rewound: Messages written, by state.
        content_digest: The digest of what was written, where that is not the session's records but rows made from them.
        native_digest: The digest of the original records that were written beside these rows, None where none were.
        losses: What the format could not hold: what, and how many times.
    """

    file: str | None
    line: int | None = None
    messages: int = 0
    compacted: int = 0
    rewound: int = 0
    content_digest: str | None = None
    native_digest: str | None = None
    losses: Mapping[str, int] = field(default_factory=dict)


class SessionView(Protocol):
    """
    A session as a writer gets it, redacted already.

    `records` and `entries` read from the store as they are iterated, and may be iterated again. A logical view has several
    segments, root first; they are named by position, and the newest, the last, stands for the whole. `info` is read when it is
    asked for.
    """

    dialect: Dialect
    ids: Sequence[str]
    """The ids of the segments."""
    redacted: bool
    """The records are not what the store holds."""

    @property
    def info(self) -> SessionInfo: ...

    @property
    def segments(self) -> Sequence[SessionInfo]: ...

    def records(self, segment: int = -1, /) -> Iterator[Record]: ...

    def entries(self, segment: int = -1, /) -> Iterator[Entry]: ...

    def files(self, segment: int = -1, /) -> Iterator[tuple[str, Path]]:
        """Yield the files that a segment consists of, its transcript first, as `Files.files` does; none where it has none."""
        ...

    def extent(self, path: Path, /) -> int | None:
        """Return how many bytes of one of these files are read; None where all of it is."""
        ...

    def origin(self, segment: int = -1, /) -> Dialect | None:
        """Return the dialect of the agent's own records of a segment; None where that is Hermes'."""
        ...

    def native(self, segment: int = -1, /) -> Iterator[Record] | None:
        """Yield the agent's own records of a segment; None where there are none."""
        ...


@runtime_checkable
class Kindred(Protocol):
    """What a view of a session can do that knows of others: say which are its relatives."""

    def kin(self) -> tuple[SessionInfo | None, Sequence[SessionInfo]]:
        """Return the session this one came from and those that came from it, as far as the same run writes them."""
        ...


@runtime_checkable
class Contents(Protocol):
    """What a view of a session can do that has files: give what is in them, redacted."""

    def contents(self, path: Path, /) -> Iterator[bytes]:
        """
        Yield what one of these files holds, piece by piece, redacted.

        Raises:
            StoreError: It can't be read.
            RedactionError: It can't be redacted.
        """
        ...


@runtime_checkable
class Export(Protocol):
    """One run of a writer; a context manager. Leaving it without an error completes the output."""

    def __enter__(self) -> Export: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None: ...

    def add(self, session: SessionView, /) -> Written:
        """Write one session and say where it went. Of one that is redacted nothing is held back: it is searched once more."""
        ...


class Writer(Protocol):
    """
    A format that can be written. `layout` says what one export is: one file, or a directory of files.

    Where the options decide that, a function `layout_of(options)` says it instead.
    """

    name: str

    @property
    def layout(self) -> Literal["file", "directory"]: ...

    suffix: str
    """Of its files: ".jsonl"."""
    file_name: str
    """The one file's name when the output is a directory: "sessions.jsonl"; "" for writers that name a file a session."""

    def open(self, target: Target, /, *, options: Mapping[str, Any], listen: Listener) -> Export: ...


class Redactor(Protocol):
    """Removes secrets, in two passes: learn over a lineage group, parents first, then apply to each session of it."""

    digest: str
    """SHA-256 of the rules, lower-case hex."""

    def begin(self) -> None:
        """Start a new lineage group: forget what was learned of the last one."""
        ...

    def learn(self, records: Iterable[Record], /) -> None: ...

    def apply(self, records: Iterable[Record], /) -> Iterator[Record]: ...

    def text(self, text: str, /) -> str:
        """Redact a text that stands outside the records (an error's place, say)."""
        ...


@runtime_checkable
class Scoped(Protocol):
    """
    What a redactor can do that tells sessions apart, and names from what is said.

    It gives a record for each record, in order: the same one where nothing is to go from it, else a new one. None is changed
    itself.
    """

    def enter(self, session_id: str, /) -> None:
        """Say whose records come next."""
        ...

    def identifier(self, text: str, /) -> str:
        """Redact an id: what other things hang on changes only where it is surely secret, the same way in the records."""
        ...

    def file(self, lines: Iterable[bytes], /, *, whole: bool) -> Iterator[bytes]:
        """Redact a file of a session that was learned, line by line, or as a `whole`. Raises RedactionError."""
        ...

    def counts(self, session_id: str, /) -> Mapping[str, int]:
        """Return what was taken out of a session that was applied, by rule, and how often."""
        ...


@runtime_checkable
class Telling(Protocol):
    """What a redactor can do for what is told while a run goes on: it ends up in logs, and those are passed on as well."""

    def told(self, text: str, /) -> str:
        """Redact a path, a session's id, a message: what is surely secret goes."""
        ...


class GatedTarget(Target, Protocol):
    """A target whose streams are searched for what should not be in them."""

    def settle(self) -> None:
        """Search what waits in every stream: what comes next is of another family. Raises RedactionError."""
        ...


class Gate(Protocol):
    """Searches what is written for what should have been taken out."""

    session: str
    """Whose text is being written, as it is called in the output."""

    def over(self, target: Target, /) -> GatedTarget:
        """Return a target whose streams are searched."""
        ...

    def text(self, text: bytes, name: str, /) -> bytes:
        """Return a text that is written as a whole, once it is searched. Raises RedactionError."""
        ...


@runtime_checkable
class Gated(Protocol):
    """What a redactor can do that trusts no writer."""

    def gate(self) -> Gate:
        """Return the gate of a run that begins."""
        ...

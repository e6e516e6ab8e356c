"""
The one way through: read -> select -> redact -> write -> manifest.

`export` joins stores, a selection, a writer and a target. Everything is read from one state of each store; a store that changed
meanwhile is read again, the last time from a private copy. Nothing is under its final name before all of it is right.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from satchel.contracts import (
    Beside,
    Gate,
    Gated,
    GatedTarget,
    Origins,
    Redactor,
    Scoped,
    SessionInfo,
    Store,
    Telling,
    Written,
)
from satchel.digest import lineage_digest
from satchel.errors import StoreChanged, TargetError, UsageError
from satchel.events import Event, Listener, Problem, Progress, SessionFinished, SessionStarted, Totals, ignore
from satchel.formats import registry
from satchel.jsontext import dumps
from satchel.lineage import Families
from satchel.manifest.manifest import ManifestWriter
from satchel.manifest.target import DirectoryTarget, FileTarget, PipeTarget
from satchel.selection import Selection, Tally, select
from satchel.session_views import Family, View
from satchel.sources import Source, open_all, spare

if TYPE_CHECKING:
    pass

__all__ = ["Outcome", "Plan", "export", "plan"]

_TRIES = 3
_PLACE = "satchel.store"

Examine = Callable[[Sequence[tuple[str, str]]], None]
LineageMode = Literal["single", "logical"]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """
    What a run did.

    Attributes:
        sessions, messages, files, bytes: What was written; messages of every state.
        lost: Sessions and records that could not be read or written; each was told to the listener.
        warnings: Other problems that were told.
        output: Where it is: a path, or None for a stream.
        manifest: The manifest's path, None when none was written.
        digests: SHA-256 of each file written, by its name; "" for a stream.
        tally: What the selection looked at, took and left out.
    """

    sessions: int = 0
    messages: int = 0
    files: int = 0
    bytes: int = 0
    lost: int = 0
    warnings: int = 0
    output: str | None = None
    manifest: str | None = None
    digests: dict[str, str] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)

    @property
    def exit_code(self) -> int:
        """0 when all of it was read and written, else 3."""
        return 3 if self.lost else 0


class _Counting:
    """A listener that counts problems and passes every event on; where secrets are taken out, it says none."""

    def __init__(self, listen: Listener, redactor: Redactor | None = None) -> None:
        self._listen = listen
        self._told: Callable[[str], str] | None = redactor.told if isinstance(redactor, Telling) else None
        self.lost = 0
        self.warnings = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Problem):
            if event.severity == "loss":
                self.lost += max(1, event.lost)
            else:
                self.warnings += 1
            if self._told is not None:
                event = Problem(self._told(event.where), self._told(event.message), event.severity, event.lost)
        self._listen(event)


# ---------------------------------------------------------------------------------------------------------- choosing


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    The sessions of one store that a run takes: families by start, in each parents first; each a list of segment ids.

    `agents` says who wrote those sessions that another agent wrote than the store's.
    """

    source: Source
    store: Store
    families: list[list[list[str]]]
    agents: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.families))


def plan(
    sources: Sequence[tuple[Source, Store]],
    selection: Selection,
    *,
    ended_only: bool,
    hide_archived: bool = False,
    lineage: LineageMode = "single",
    tally: Tally | None = None,
) -> list[Plan]:
    """
    Choose the sessions of opened stores, by a scan that parses no message; what only files hold of a session goes along with it.

    With `lineage="logical"` a chain of continuations is one item, taken when any of its segments is chosen.

    Raises:
        NotFound: An id that was asked for is in no store.
    """
    counts = selection.needs_counts or lineage == "logical"
    hanging = [Families() for _ in sources]
    chosen: list[set[str]] = [set() for _ in sources]
    agents: list[dict[str, str]] = [{} for _ in sources]
    at = 0

    def scan() -> Iterator[SessionInfo]:
        nonlocal at
        for number, (_, store) in enumerate(sources):
            for info in store.sessions(counts=counts):
                at = number
                hanging[number].add(info)
                if info.agent != store.agent:
                    agents[number][info.id] = info.agent
                if selection.session_ids:
                    # Ids are resolved over the whole scan: the place has to travel with what is found.
                    info.extra = {**info.extra, _PLACE: number}
                yield info

    for info in select(scan(), selection, ended_only=ended_only, hide_archived=hide_archived, tally=tally):
        chosen[info.extra.get(_PLACE, at)].add(info.id)
    plans: list[Plan] = []
    every: dict[int, set[str]] = {}
    for (source, store), families, ids, written_by in zip(sources, hanging, chosen, agents, strict=True):
        if isinstance(store, Beside):
            for session_id in every.get(id(store.database), ()):
                rest = store.rest(session_id)
                if rest is not None:
                    families.add(rest)
                    ids.add(rest.id)
        taken = every[id(store)] = set()
        groups: list[list[list[str]]] = []
        for group in families.groups():
            items: list[list[str]] = []
            for session_id in group:
                if session_id in ids and session_id not in taken:
                    segments = families.chain(session_id) if lineage == "logical" else [session_id]
                    taken.update(segments)
                    items.append(segments)
            if items:
                groups.append(items)
        plans.append(Plan(source=source, store=store, families=groups, agents=written_by))
    return plans


# ---------------------------------------------------------------------------------------------------------- the run


def export(
    sources: Sequence[Source],
    output: str | os.PathLike[str] | BinaryIO,
    *,
    format: str = "jsonl",
    selection: Selection,
    lineage: LineageMode = "single",
    options: Mapping[str, Any] | None = None,
    redactor: Redactor | None = None,
    examine: Examine | None = None,
    manifest: bool = True,
    force: bool = False,
    ended_only: bool | None = None,
    unfiltered: bool = True,
    version: str = "",
    stamp: str | None = None,
    listen: Listener = ignore,
) -> Outcome:
    """
    Write the selected sessions of the sources; where none is selected, nothing is written.

    Args:
        output: A file, a folder (one that exists, or a name that ends in a separator, or any name for a writer of many files), or
            a binary stream.
        options: The writer's own options.
        examine: Looks at files, given by name and path, before they get their final names, and raises to prevent that.
        ended_only: Leave live sessions out; by default when the selection narrows and does not ask for them.
        unfiltered: Take several sessions though the selection narrows nothing.
        stamp: Time of the run for the manifest's header; None keeps the output free of any clock.

    Raises:
        SatchelError: Nothing was written; nothing is under a final name.
    """
    if isinstance(output, str | os.PathLike):
        spare(sources, output, file_name=registry.writer(format).file_name)
    attempt = 1
    while True:
        counting = _Counting(listen, redactor)
        run = _Run(counting, format, dict(options or {}), lineage, redactor)
        only_ended = not selection.takes_live if ended_only is None else ended_only
        try:
            with ExitStack() as stack:
                stores = list(open_all(stack, sources, listen=counting, private=attempt == _TRIES))
                plans = plan(stores, selection, ended_only=only_ended, lineage=lineage, tally=run.outcome.tally)
                if not unfiltered and not selection.narrows and sum(map(len, plans)) > 1:
                    raise UsageError(
                        f"the format {format} writes a file a session, and there are {sum(map(len, plans)):,}: say which, with a "
                        "filter such as --newer-than 30d or --session-id ID; --after 2000-01-01 takes all"
                    )
                if any(map(len, plans)):
                    run.write(plans, output, manifest=manifest, force=force, version=version, stamp=stamp, examine=examine)
                else:
                    # An output that nothing goes into must not take the place of one that is there.
                    for item in plans:
                        item.store.check()
            break
        except StoreChanged:
            if attempt == _TRIES or not isinstance(output, str | os.PathLike):
                raise
            listen(Problem("the run", "a store changed while it was read: it is read again"))
            attempt += 1
    outcome = run.outcome
    outcome.lost, outcome.warnings = counting.lost, counting.warnings
    listen(
        Totals(
            sessions=outcome.sessions,
            messages=outcome.messages,
            files=outcome.files,
            bytes=outcome.bytes,
            warnings=outcome.warnings,
            lost=outcome.lost,
        )
    )
    return outcome


class _Run:
    """One attempt."""

    def __init__(
        self, listen: _Counting, format: str, options: dict[str, Any], lineage: LineageMode, redactor: Redactor | None
    ) -> None:
        self._listen = listen
        self._format = format
        self._options = options
        self._lineage = lineage
        self._redactor = redactor
        self._writer = registry.writer(format)
        self.outcome = Outcome()

    def write(
        self,
        plans: list[Plan],
        output: str | os.PathLike[str] | BinaryIO,
        *,
        manifest: bool,
        force: bool,
        version: str,
        stamp: str | None,
        examine: Examine | None,
    ) -> None:
        outcome = self.outcome
        target: FileTarget | DirectoryTarget | PipeTarget
        if isinstance(output, str | os.PathLike):
            target = _target(os.fspath(output), self._layout(), force=force, listen=self._listen)
            target.examine = examine
            if isinstance(target, FileTarget) and not manifest:
                target.check()
            outcome.output = os.path.join(target.root, target.name) if isinstance(target, FileTarget) else target.root
        else:
            target = PipeTarget(output)
        listing: ManifestWriter | None = None
        gate: Gate | None = None
        gated: GatedTarget | None = None
        able: object = self._redactor
        if isinstance(able, Gated):
            gate = self._gate = able.gate()
            gated = gate.over(target)
        header = {"lineage": self._lineage, **self._options} | ({"exported_at": stamp} if stamp else {})
        with target, ExitStack() as inner:
            if manifest and not isinstance(target, PipeTarget):
                listing = ManifestWriter(
                    target,
                    format=self._format,
                    version=version,
                    rules=self._redactor.digest if self._redactor else None,
                    options=header,
                    listen=self._listen,
                )
                inner.enter_context(listing)
            with self._writer.open(gated or target, options=self._options, listen=self._listen) as writing:
                total, done = sum(map(len, plans)), 0
                self._tell_doubles(plans)
                for item in plans:
                    for family in item.families:
                        if gated is not None:
                            gated.settle()
                        self._learn(item.store, family)
                        kin = Family(item.store, family)
                        for segments in family:
                            agent = item.agents.get(segments[-1])
                            view = View(item.store, segments, self._redactor, agent=agent, family=kin)
                            self._listen(SessionStarted(view.ids[-1]))
                            before = self._listen.lost
                            if gate is not None:
                                gate.session = view.ids[-1]
                            written = writing.add(view)
                            self._note(view, written, listing, self._listen.lost - before, item)
                            done += 1
                            self._listen(Progress(done, total))
                    item.store.check()
            if listing is not None:
                listing.seal(lost=max(0, self._listen.lost - self._lost_in_sessions))
                outcome.manifest = listing.path
        outcome.files = len(target.files)
        outcome.bytes = sum(entry.bytes for entry in target.files)
        outcome.digests = {entry.path: entry.sha256 for entry in target.files}

    _lost_in_sessions = 0
    _gate: Gate | None = None

    def _layout(self) -> str:
        """Return what an export is: one file or many."""
        of = getattr(self._writer, "layout_of", None)
        return str(of(self._options)) if of is not None else self._writer.layout

    def _tell_doubles(self, plans: list[Plan]) -> None:
        """Say which sessions are in more than one of the stores: both are written, as it is not known which one is right."""
        if len(plans) < 2:
            return
        seen: set[str] = set()
        for item in plans:
            ids = {session_id for family in item.families for segments in family for session_id in segments}
            for session_id in sorted(ids & seen):
                self._listen(Problem(session_id, "this session is in more than one of the stores; each copy is written"))
            seen |= ids

    def _learn(self, store: Store, family: list[list[str]]) -> None:
        if self._redactor is not None:
            self._redactor.begin()
            for segments in family:
                for session_id in segments:
                    if isinstance(self._redactor, Scoped):
                        self._redactor.enter(session_id)
                    self._redactor.learn(store.records(session_id))
                    kept = store.native(session_id) if isinstance(store, Origins) else None
                    if kept is not None:
                        self._redactor.learn(kept)

    def _note(self, view: View, written: Written, listing: ManifestWriter | None, lost: int, item: Plan) -> None:
        outcome = self.outcome
        count = written.messages + written.compacted + written.rewound
        outcome.sessions += 1
        outcome.messages += count
        self._lost_in_sessions += lost
        self._listen(SessionFinished(view.ids[-1], count))
        if listing is None:
            return
        pairs = [view.digests.get(at) for at in range(len(view.ids))]
        whole = [pair for pair in pairs if pair is not None]
        complete = len(whole) == len(pairs)
        content = written.content_digest or lineage_digest([pair[1] for pair in whole])
        line = {
            "session_id": view.ids[-1],
            "agent": view.agent,
            "lineage_session_ids": list(view.ids),
            "file": written.file,
            "line": written.line,
            "messages": written.messages,
            "compacted": written.compacted,
            "rewound": written.rewound,
            "message_count": count,
            "content_digest": content if complete and not self._options.get("only") else None,
            "source_digest": lineage_digest([pair[0] for pair in whole]) if complete else None,
            "incomplete": lost > 0,
            "lost": lost,
            "losses": dict(written.losses),
        }
        redactor, profile = self._redactor, item.source.profile
        if redactor is not None:
            line |= _counts(view, redactor)
            profile = redactor.text(profile) if profile is not None else None
        more = {"profile": profile, "native_digest": written.native_digest}
        line |= {key: value for key, value in more.items() if value is not None}
        if self._gate is not None:
            self._gate.text(dumps(line), "the manifest")
        listing.session(line)


def _counts(view: View, redactor: Redactor) -> dict[str, Any]:
    """Return what a manifest says of what was taken out of a session: by rule, how often."""
    if not isinstance(redactor, Scoped):
        return {"redacted": True}
    total: Counter[str] = Counter()
    for session_id in view.source_ids:
        total.update(redactor.counts(session_id))
    return {"redacted": dict(sorted(total.items()))}


def _target(output: str, layout: str, *, force: bool, listen: Listener) -> FileTarget | DirectoryTarget:
    """Return the target for an output path: a folder where one is meant or there, else a file."""
    if not output:
        raise UsageError("the output's name is empty")
    if layout == "directory" or output.endswith(("/", os.sep)) or Path(output).is_dir():
        return DirectoryTarget(output, force=force, listen=listen)
    if os.path.exists(output) and not os.path.isfile(output):
        raise TargetError(f"{output} is a device or a pipe, not a file: write to standard output instead, with -", subject=output)
    return FileTarget(output, force=force, listen=listen)

"""
What `doctor` finds: which stores are here, how each is, why a session may seem missing, and what to do.

Nothing is ever written. What can't be told is left out or said to be unknown; a store that can't be read is an answer too.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.contracts import SessionInfo, Store
from satchel.errors import JsonError, SatchelError, StoreError, UsageError
from satchel.events import Event, Listener, Problem, StoreOpened, ignore
from satchel.formats import registry
from satchel.sources import Source, find, find_all
from satchel.timetext import iso_utc, local
from satchel.views import Figures, settled
from satchel.wording import count, size

if TYPE_CHECKING:
    from satchel.formats.hermes_state.beside import Legacy, Retention
    from satchel.formats.hermes_state.health import Header, Search, WalOnly
    from satchel.processes import Holder

__all__ = ["Checked", "Diagnosis", "Reason", "diagnose"]

_DAY = 86_400.0
# Sources and marks that Hermes' own list leaves out.
_HIDDEN_SOURCES = ("tool",)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a session may seem missing, or what else a person should know; `command` shows or solves it, "" when none does."""

    text: str
    command: str = ""


@dataclass(slots=True, kw_only=True)
class Checked:
    """
    One store as it was found.

    Attributes:
        error: Why nothing can be read from it; None when something can.
        how: In words, how it is read.
        warnings, damage: Problems that were met; `lost` counts what could not be read.
        address: The options that name the store to other commands; "" for the one that they take by themselves.
        only_in_wal: What the database file alone would lack; None when nothing or unknown.
        holders: Processes that have it open; None when the system does not tell.
        next_prune: Sessions that Hermes' auto-prune would remove, were it to run now and on.
    """

    path: Path
    format: str
    profile: str | None = None
    named: bool = False
    address: str = ""
    error: str | None = None
    how: str = ""
    schema: int | None = None
    known_schema: int | None = None
    header: Header | None = None
    beside: dict[str, int] = field(default_factory=dict)
    free: int | None = None
    figures: Figures = field(default_factory=Figures)
    kinds: dict[str, int] = field(default_factory=dict)
    orphans: tuple[int, int] | None = None
    missing_parents: int | None = None
    search: Search | None = None
    only_in_wal: WalOnly | None = None
    warnings: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    lost: int = 0
    holders: list[Holder] | None = None
    legacy: list[Legacy] = field(default_factory=list)
    retention: Retention | None = None
    last_prune: float | None = None
    next_prune: int = 0
    reasons: list[Reason] = field(default_factory=list)
    commands: list[Reason] = field(default_factory=list)

    @property
    def wal(self) -> int:
        """Bytes in the WAL beside the database."""
        return self.beside.get(f"{self.path.name}-wal", 0)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready keys."""
        kept = self.retention
        figures = self.figures.as_dict()
        return {
            "path": str(self.path),
            "format": self.format,
            "profile": self.profile,
            "error": self.error,
            "read": self.how,
            "schema": self.schema,
            "known_schema": self.known_schema,
            "bytes": self.figures.bytes,
            "beside": self.beside,
            "wal_bytes": self.wal,
            "only_in_wal": self.only_in_wal
            and {"sessions": len(self.only_in_wal.sessions), "messages": self.only_in_wal.messages},
            "free_bytes": self.free,
            **{name: figures[name] for name in ("sessions", "live", "archived", "pinned", "messages", "compacted", "rewound")},
            "kinds": self.kinds,
            "orphan_messages": self.orphans and self.orphans[0],
            "orphan_sessions": self.orphans and self.orphans[1],
            "missing_parents": self.missing_parents,
            "search": self.search and self.search._asdict(),
            "open_in": None if self.holders is None else [{"pid": each.pid, "name": each.name} for each in self.holders],
            "legacy": [
                {"where": each.where, "files": each.files, "bytes": each.bytes, "unknown": each.unknown} for each in self.legacy
            ],
            "retention": kept
            and {
                "config": kept.config and str(kept.config),
                "auto_prune": kept.auto_prune,
                "retention_days": kept.retention_days,
                "vacuum_after_prune": kept.vacuum_after_prune,
                "min_vacuum_interval_days": kept.min_vacuum_interval_days,
                "min_interval_hours": kept.min_interval_hours,
                "auto_archive": kept.auto_archive,
                "last_auto_prune": iso_utc(self.last_prune),
                "would_remove": self.next_prune,
            },
            "damage": self.damage,
            "lost": self.lost,
            "warnings": self.warnings,
            "reasons": [{"text": each.text, "command": each.command} for each in self.reasons],
            "commands": [{"text": each.text, "command": each.command} for each in self.commands],
        }


@dataclass(slots=True)
class Diagnosis:
    """All stores that were looked at, the places where they were looked for, and hints that concern none of them."""

    stores: list[Checked] = field(default_factory=list)
    looked_at: list[Path] = field(default_factory=list)
    hints: list[Reason] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 when a store that was named, or every one, can't be read at all; 3 when something could not be read; else 0."""
        failed = [store for store in self.stores if store.error is not None]
        if any(store.named for store in failed) or (failed and len(failed) == len(self.stores)):
            return 1
        return 3 if failed or any(store.lost for store in self.stores) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready keys."""
        return {
            "ok": self.exit_code == 0,
            "stores": [store.as_dict() for store in self.stores],
            "looked_at": [str(path) for path in self.looked_at],
            "hints": [{"text": each.text, "command": each.command} for each in self.hints],
        }


def diagnose(
    wanted: Sequence[str],
    *,
    profile: str | None = None,
    deep: bool = True,
    environ: Mapping[str, str] = os.environ,
    now: float | None = None,
    listen: Listener = ignore,
) -> Diagnosis:
    """
    Look at the stores that `--from` names, or at every one that is here.

    Args:
        wanted: Names of agents, paths, "-" for standard input; all homes and profiles when there are none.
        deep: Read every page of the sessions and messages.
        now: The moment that ages count from, in seconds since the epoch; by default now.

    Raises:
        UsageError: A profile is not there.
    """
    from satchel.formats.hermes_state.homes import home

    found = Diagnosis()
    moment = time.time() if now is None else now
    sources = _named(wanted, profile, found) if wanted else _here(profile, environ, found)
    used = home(environ)
    for source in sources:
        store = _check(source, used=used, named=bool(wanted), deep=deep, now=moment, listen=listen)
        found.stores.append(store)
    if not wanted:
        _hint_at_others(found)
        _hint_at_claude(found, environ)
    return found


def _named(wanted: Sequence[str], profile: str | None, found: Diagnosis) -> list[Source]:
    sources: dict[str, Source] = {}
    for word in wanted:
        try:
            for source in find([word], profile=profile):
                sources.setdefault(os.path.realpath(source.path), source)
        except UsageError:
            raise
        except SatchelError as error:
            found.stores.append(Checked(path=Path(word), format="", named=True, error=error.message))
    return list(sources.values())


def _here(profile: str | None, environ: Mapping[str, str], found: Diagnosis) -> list[Source]:
    """Return the stores of every home: the one in use, the usual one, and the one whose profile the one in use is."""
    from satchel.formats.hermes_state.homes import home, stores

    used = home(environ)
    homes = [used, *([used.parent.parent] if used.parent.name == "profiles" else []), home({**environ, "HERMES_HOME": ""})]
    found.looked_at = list({os.path.realpath(path): path for path in reversed(homes)}.values())[::-1]
    if profile is not None and profile != "all":
        return find_all(profile=profile, environ=environ)
    sources: dict[str, Source] = {}
    for folder in found.looked_at:
        for path, name in stores(folder):
            sources.setdefault(os.path.realpath(path), Source("hermes", path, name))
    return list(sources.values())


# ---------------------------------------------------------------------------------------------------------- one store


def _check(source: Source, *, used: Path, named: bool, deep: bool, now: float, listen: Listener) -> Checked:
    def look(private: bool) -> Checked:
        checked = Checked(
            path=source.path, format=source.reader, profile=source.profile, named=named, address=_address(source, used)
        )
        _look(checked, source, private, deep, now, listen)
        return checked

    try:
        return settled(look, listen)
    except StoreError as error:
        checked = Checked(path=source.path, format=source.reader, profile=source.profile, named=named, error=error.message)
        with suppress(OSError):
            checked.figures.bytes = source.path.stat().st_size
        if source.reader == "hermes":
            from satchel.formats.hermes_state.snapshot import sides

            checked.beside = dict(sides(source.path))
        return checked


def _look(checked: Checked, source: Source, private: bool, deep: bool, now: float, listen: Listener) -> None:
    def hear(event: Event) -> None:
        if isinstance(event, StoreOpened):
            checked.how = event.how
        elif isinstance(event, Problem):
            loss = event.severity == "loss"
            checked.lost += max(1, event.lost) if loss else 0
            place = event.where.removeprefix(str(source.path)).removeprefix(f" (profile {source.profile})").strip(": ")
            text = f"{place}: {event.message}" if place else event.message
            (checked.damage if loss else checked.warnings).append(text)
        listen(event)

    with suppress(OSError):
        checked.figures.bytes = source.path.stat().st_size
    if source.reader != "hermes":
        with registry.reader(source.reader).open(source.path, listen=hear, private=private) as store:
            _count(checked, store)
            store.check()
        checked.commands.append(_export_command(checked))
        return
    from satchel.formats.hermes_state import health
    from satchel.formats.hermes_state.reader import KNOWN_SCHEMA, HermesStore
    from satchel.formats.hermes_state.snapshot import open_snapshot, sides

    checked.header = health.header(source.path)
    checked.beside = dict(sides(source.path))
    snapshot = open_snapshot(source.path, private=private)
    try:
        store = HermesStore(snapshot, listen=hear, profile=source.profile)
    except BaseException:
        snapshot.close()
        raise
    with store:
        checked.schema, checked.known_schema = store.schema, KNOWN_SCHEMA
        infos = _count(checked, store)
        connection = snapshot.connection
        checked.free = health.free_bytes(connection)
        linked = health.links(connection)
        if linked is not None:
            checked.orphans, checked.missing_parents = linked[:2], linked[2]
        checked.search = health.search(connection)
        if checked.wal:
            checked.only_in_wal = health.wal_only(connection, source.path)
        if deep:
            broken = health.damage(connection, [name for name in store.tables if "_fts" not in name])
            checked.damage += broken
            checked.lost += len(broken) if not checked.lost else 0
        header = checked.header
        if header is not None and header.said > header.size and not checked.wal:
            checked.damage.insert(0, f"the file is cut short: {header.size:,} of {header.said:,} bytes are there")
        marks = health.marks(connection)
        store.check()
    _look_around(checked, infos, marks, now)
    _say_why(checked)


def _count(checked: Checked, store: Store) -> list[SessionInfo]:
    """Take every session in, and keep those facts of each that are asked for later."""
    infos: list[SessionInfo] = []
    for info in store.sessions():
        checked.figures.add(info)
        if info.lineage is not None:
            checked.kinds[info.lineage] = checked.kinds.get(info.lineage, 0) + 1
        infos.append(info)
    return infos


def _look_around(checked: Checked, infos: list[SessionInfo], marks: dict[str, str], now: float) -> None:
    """Look beside the store: who has it open, what else lies there, and what Hermes is told to remove."""
    from satchel.formats.hermes_state.beside import legacy, retention
    from satchel.processes import holders

    path = Path(os.path.realpath(checked.path))
    checked.holders = holders([path, *(path.with_name(f"{path.name}{side}") for side in ("-wal", "-shm"))])
    home = checked.path.parent
    ids = {info.id for info in infos}
    checked.legacy = legacy(home, ids) if checked.path.name == "state.db" else []
    checked.retention = kept = retention(home)
    checked.warnings += kept.problems
    with suppress(ValueError, KeyError):
        checked.last_prune = float(marks["last_auto_prune"])
    # Up to schema 22 Hermes counts from the start of a session, and knows no pins.
    by_start = checked.schema is not None and checked.schema < 23
    limit = now - kept.retention_days * _DAY
    for info in infos:
        last = info.started_at if by_start else info.last_active
        if not info.live and not info.damaged and last is not None and last < limit and (by_start or not info.pinned):
            checked.next_prune += 1


# ---------------------------------------------------------------------------------------------------------- in words


def _address(source: Source, used: Path) -> str:
    if os.path.realpath(source.path) == os.path.realpath(used / "state.db"):
        return ""
    if source.profile is not None and os.path.realpath(source.path) == os.path.realpath(
        used / "profiles" / source.profile / "state.db"
    ):
        return f"--profile {shlex.quote(source.profile)}"
    return f"--from {shlex.quote(str(source.path))}"


def _command(checked: Checked, words: str, after: str = "") -> str:
    return " ".join(part for part in (words, checked.address, after) if part)


def _export_command(checked: Checked) -> Reason:
    if checked.lost or checked.damage:
        text = "Carry over all that can still be read; what can't be is named:"
    else:
        text = "Copy every session, with a manifest that `satchel verify` checks:"
    return Reason(text, _command(checked, "satchel export hermes-sessions.jsonl"))


_LIST = "satchel list --limit 0"


def _say_why(checked: Checked) -> None:
    """Fill in why a session may seem missing from this store, and what to do about the store."""
    why = checked.reasons
    kinds = checked.kinds
    tools = sum(checked.figures.sources[name] for name in _HIDDEN_SOURCES)
    for number, text, command in (
        (checked.figures.archived, "archived session{s}: hidden, not gone", _command(checked, _LIST, "--include-archived")),
        (tools, "session{s} of the source tool, which Hermes' own list leaves out", _command(checked, _LIST, "--source tool")),
        (kinds.get("delegate", 0), "subagent run{s}, which Hermes' own list leaves out", _command(checked, _LIST)),
        (
            kinds.get("continuation", 0),
            "session{s} that go on with a compressed one: Hermes lists only the newest of each conversation",
            _command(checked, "satchel export conversations.jsonl --lineage logical"),
        ),
    ):
        if number:
            why.append(Reason(f"{number:,} " + text.replace("{s}", "" if number == 1 else "s"), command))
    only = checked.only_in_wal
    if only is not None and (only.sessions or only.messages):
        text = (
            f"{count(len(only.sessions), 'session')} and {count(only.messages, 'message')} are in the WAL alone: a copy of "
            f"{checked.path.name} without its -wal lacks them"
        )
        why.append(Reason(text))
    if checked.orphans is not None and checked.orphans[0]:
        messages, sessions = checked.orphans
        text = (
            f"{count(messages, 'message')} of {count(sessions, 'session')} without a row: Hermes shows none of them, Satchel does"
        )
        why.append(Reason(text, _command(checked, _LIST, "--source recovered")))
    why += _files_beside(checked)
    kept = checked.retention
    if kept is not None and kept.auto_prune:
        last = f" (last run {local(checked.last_prune)})" if local(checked.last_prune) else ""
        text = f"auto-prune is on: ended sessions are deleted after {kept.retention_days:g} days{last}"
        command = ""
        if checked.next_prune:
            text += f"; the next run deletes {count(checked.next_prune, 'session')}. Copy them first:"
            command = _command(checked, "satchel export old-sessions.jsonl", f"--older-than {kept.retention_days:g}d")
        why.append(Reason(text, command))
    checked.commands += _todo(checked)


def _files_beside(checked: Checked) -> Iterator[Reason]:
    for kind in checked.legacy:
        if kind.where == "sessions/sessions.json":
            yield Reason("sessions/sessions.json is the gateway's routing, not a list of sessions: most are not in it")
        elif kind.unknown:
            files = count(kind.unknown, "file")
            yield Reason(f"{files} of {kind.where} named after a session that is not in the store ({kind.what})")
        elif kind.where.startswith("pending_messages"):
            yield Reason(f"{count(kind.files, 'file')} in pending_messages/: {kind.what}")


def _todo(checked: Checked) -> Iterator[Reason]:
    for holder in checked.holders or ():
        for file, link in holder.gone:
            text = (
                f"{holder.name} (process {holder.pid}) still uses {file}, which is deleted or replaced: what it wrote there goes "
                "when it ends. Copy it first:"
            )
            yield Reason(text, f"cp {link} {shlex.quote(os.path.basename(file))}.rescued")
    yield _export_command(checked)
    if checked.free and checked.free > max(1 << 20, checked.figures.bytes // 10):
        yield Reason(f"VACUUM would give back {size(checked.free)} or more. With Hermes stopped:", "hermes sessions optimize")


def _hint_at_others(found: Diagnosis) -> None:
    """Say which stores the other commands do not take by themselves."""
    used = os.path.realpath(found.looked_at[0])
    for store in found.stores:
        folder = store.path.parent if store.profile is None else store.path.parent.parent.parent
        if os.path.realpath(folder) != used:
            text = f"{store.path} is outside the home in use ({found.looked_at[0]}): other commands take it only by its path"
            found.hints.append(Reason(text, _command(store, "satchel list")))
    profiles = [store.profile for store in found.stores if store.profile is not None]
    if profiles and len(found.stores) > 1:
        text = (
            f"a session may be in another profile: there are {', '.join(['default', *profiles])}; export takes the main one alone"
        )
        found.hints.append(Reason(text, "satchel export all.jsonl --profile all"))


def _hint_at_claude(found: Diagnosis, environ: Mapping[str, str]) -> None:
    """Name Claude Code's own clean-up, if it is here: its logs go after 30 days unless it is told otherwise."""
    from satchel.jsontext import loads

    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
    if not folder.is_dir():
        return
    days: Any = None
    try:
        with open(folder / "settings.json", "rb") as file:
            settings = loads(file.read(1 << 20))
        days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    except (OSError, JsonError):
        pass
    where = f"cleanupPeriodDays in {folder / 'settings.json'}"
    if days is None:
        text = f"Claude Code is here too ({folder}): it deletes its logs after 30 days; {where} sets another number"
    elif days == 0:
        text = f"Claude Code ({folder}) is told to delete ALL its logs when it starts: {where} is 0"
    else:
        text = f"Claude Code is here too ({folder}): it deletes its logs after {str(days)[:20]} days ({where})"
    found.hints.append(Reason(text))

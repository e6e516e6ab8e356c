"""
What `doctor` finds: which stores are here, how each is, why a session may seem missing, and what to do.

Nothing is ever written. What can't be told is left out or said to be unknown; a store that can't be read is an answer too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from satchel.advice import address, export_command, hint_at_claude, hint_at_others, say_why
from satchel.contracts import Beside, Drifting, SessionInfo, Store
from satchel.diagnosis import Checked, Diagnosis, OnlyInFiles, Reason
from satchel.errors import SatchelError, StoreError, UsageError
from satchel.events import Event, Listener, Problem, StoreOpened, ignore
from satchel.formats import registry
from satchel.formats.parted import rows
from satchel.sources import Source, find, find_all, real_path
from satchel.views import settled
from satchel.wording import argument, count

__all__ = ["diagnose"]

_DAY = 86_400.0


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

    def hear(event: Event) -> None:
        if isinstance(event, Problem):
            found.hints.append(Reason(f"{event.where}: {event.message}"))
        listen(event)

    sources = _named(wanted, profile, found, hear) if wanted else _here(profile, environ, found, hear)
    used = home(environ)
    databases = {real_path(source.path.parent): source for source in sources if source.reader == "hermes"}
    for source in sources:
        # What the database of the same home holds is no matter of the files beside it.
        database = databases.get(real_path(source.path)) if source.reader == "legacy" else None
        store = _check(source, used=used, named=bool(wanted), deep=deep, now=moment, database=database, listen=listen)
        found.stores.append(store)
    if not wanted:
        hint_at_others(found)
        hint_at_claude(found, environ)
    return found


def _named(wanted: Sequence[str], profile: str | None, found: Diagnosis, listen: Listener) -> list[Source]:
    sources: dict[str, Source] = {}
    for word in wanted:
        try:
            for source in find([word], profile=profile, listen=listen):
                sources.setdefault(real_path(source.path), source)
        except UsageError:
            raise
        except SatchelError as error:
            path = Path(os.path.expanduser(word))
            found.stores.append(_unreadable(Checked(path=path, format="", named=True, error=error.message)))
    return list(sources.values())


def _here(profile: str | None, environ: Mapping[str, str], found: Diagnosis, listen: Listener) -> list[Source]:
    """Return the stores of every home: the one in use, the usual one, and the one whose profile the one in use is."""
    from satchel.formats.hermes_state.homes import home, stores

    used = home(environ)
    homes = [used, *([used.parent.parent] if used.parent.name == "profiles" else []), home({**environ, "HERMES_HOME": ""})]
    found.looked_at = list({real_path(path): path for path in reversed(homes)}.values())[::-1]
    if profile is not None and profile != "all":
        return find_all(profile=profile, environ=environ, listen=listen)
    sources: dict[str, Source] = {}
    for folder in found.looked_at:
        for path, name in stores(folder, listen=listen):
            sources.setdefault(real_path(path), Source("hermes", path, name))
    for source in find_all(profile=profile, environ=environ, listen=ignore):
        sources.setdefault(real_path(source.path), source)
    return list(sources.values())


# ---------------------------------------------------------------------------------------------------------- one store


def _check(
    source: Source, *, used: Path, named: bool, deep: bool, now: float, database: Source | None, listen: Listener
) -> Checked:
    def look(private: bool) -> Checked:
        checked = Checked(
            path=source.path, format=source.reader, profile=source.profile, named=named, address=address(source, used)
        )
        _look(checked, source, private, deep, now, database, listen)
        return checked

    try:
        return settled(look, listen)
    except StoreError as error:
        return _unreadable(
            Checked(path=source.path, format=source.reader, profile=source.profile, named=named, error=error.message)
        )


def _unreadable(checked: Checked) -> Checked:
    """Look beside a store that can't be read: a copy of it may be there."""
    from satchel.formats.hermes_state.beside import legacy
    from satchel.formats.hermes_state.snapshot import sides

    with suppress(OSError):
        checked.figures.bytes = checked.path.stat().st_size
    checked.beside = dict(sides(checked.path))
    checked.legacy = [kind for kind in legacy(checked.path.parent, ()) if kind.where.startswith("*.")]
    if checked.legacy:
        copies = argument(str(checked.path.parent / "COPY"))
        checked.commands.append(Reason("Copies of a store are beside it; see what they hold:", f"satchel doctor --from {copies}"))
    return checked


def _look(
    checked: Checked, source: Source, private: bool, deep: bool, now: float, database: Source | None, listen: Listener
) -> None:
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
        with ExitStack() as stack:
            options: dict[str, Any] = {}
            if database is not None:
                with suppress(StoreError):  # Of which the database's own report speaks.
                    held = registry.reader("hermes").open(database.path, listen=ignore, private=private)
                    options["database"] = stack.enter_context(held)
            store = stack.enter_context(registry.reader(source.reader).open(source.path, listen=hear, private=private, **options))
            _count(checked, store)
            if isinstance(store, Beside) and store.database is not None:
                _compare(checked, store, deep)
            checked.figures.bytes = store.facts().get("bytes", checked.figures.bytes)
            if deep and isinstance(store, Drifting):
                checked.unknown = {version: dict(found) for version, found in store.drift().items() if found}
            store.check()
        checked.commands.append(export_command(checked))
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
            broken = health.damage(connection, [name for name, table in store.tables.items() if not table.search])
            checked.damage += broken
            checked.lost += len(broken) if not checked.lost else 0
        header = checked.header
        if header is not None and header.said > header.size and not checked.wal:
            checked.damage.insert(0, f"the file is cut short: {header.size:,} of {header.said:,} bytes are there")
        marks = health.marks(connection)
        store.check()
    _look_around(checked, infos, marks, now)
    say_why(checked)


def _compare(checked: Checked, store: Beside, deep: bool) -> None:
    """Count what only the files beside a database hold."""
    checked.only_in_files = found = OnlyInFiles(checked.figures.sessions, checked.figures.messages)
    if deep and store.database is not None:
        parts = [sum(map(rows, store.lacking(info.id))) for info in store.database.sessions(counts=False)]
        found.parts, found.messages_of_parts = sum(part > 0 for part in parts), sum(parts)
    if found.parts:
        what = f"{count(found.messages_of_parts or 0, 'message')} of {count(found.parts, 'session')} are in these files alone"
        text = (
            f"{what}, and not in {store.database.path if store.database is not None else 'the database'}: both go together with"
        )
        checked.reasons.append(Reason(text, "satchel export hermes-sessions.jsonl --from hermes"))


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
    from satchel.formats.hermes_state.beside import Retention, legacy, retention
    from satchel.processes import holders

    path = Path(real_path(checked.path))
    checked.holders = holders([path, *(path.with_name(f"{path.name}{side}") for side in ("-wal", "-shm"))])
    with suppress(ValueError, KeyError):
        checked.last_prune = float(marks["last_auto_prune"])
    if checked.path.name != "state.db":
        # A copy: what lies beside it is not Hermes' business.
        return
    checked.legacy = legacy(checked.path.parent, {info.id for info in infos})
    settings = checked.path.parent / "config.yaml"
    if os.path.exists(settings) and not os.path.isfile(settings):
        # Opening a pipe would wait for whoever writes into it.
        kept = Retention(problems=[f"{settings} is no regular file: Hermes' defaults are assumed"])
    else:
        kept = retention(checked.path.parent)
    checked.retention = kept
    checked.warnings += kept.problems
    # Up to schema 22 Hermes counts from the start of a session, and knows no pins.
    by_start = checked.schema is not None and checked.schema < 23
    limit = now - kept.retention_days * _DAY
    for info in infos:
        last = info.started_at if by_start else info.last_active
        if not info.live and not info.damaged and last is not None and last < limit and (by_start or not info.pinned):
            checked.next_prune += 1

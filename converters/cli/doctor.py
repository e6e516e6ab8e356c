"""`satchel doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.cli import declare
from satchel.cli._options import events, json_output, sources
from satchel.cli._output import Teller, columns, note, print_facts, print_json, put, say
from satchel.naming import terminal_line
from satchel.timetext import local
from satchel.wording import count, size, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.diagnosis import Checked, Diagnosis, OnlyInFiles, Reason
    from satchel.events import Event

__all__ = ["command"]

_SHOWN = 12


@declare.command(name="doctor", epilog="Example: satchel doctor --quick")
@declare.option(
    "--quick", flag=True, help="Do not read every page of the sessions and messages: on a store of many GB that takes a while."
)
@sources
@json_output
@events
def command(
    quick: bool,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
) -> int:
    """
    Say which stores are here, how each of them is, why a session may seem missing, and what to do.

    Nothing is written. The exit status is 0 when all is readable, 3 when something is not, 1 when a store is not at all.
    """
    from satchel.doctoring import diagnose

    with Teller(quiet=quiet, log_json=log_json) as tell:

        def hear(event: Event) -> None:
            # The report has it all; only a log wants it twice.
            if log_json:
                tell(event)
            else:
                note(event)

        found = diagnose(from_, profile=profile, deep=not quick, listen=hear)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found)
    failed = sum(store.error is not None for store in found.stores)
    if failed:
        say(f"{failed} of {count(len(found.stores), 'store')} can't be read at all; the report says why")
    elif found.exit_code:
        say("something can't be read; the report says what")
    return found.exit_code


def _show(found: Diagnosis) -> None:
    for number, store in enumerate(found.stores):
        if number:
            put()
        _show_store(store)
    if not found.stores:
        places = ", ".join(str(path) for path in found.looked_at)
        text = f"No session store is here. Looked for state.db, and for profiles/NAME/state.db, in: {places}."
        _paragraph(text, "", "")
        _paragraph("If Hermes keeps its store elsewhere, set HERMES_HOME to that folder, or name the file:", "", "")
        put(("  satchel doctor --from PATH", "cyan"))
    if found.hints:
        put()
        put(("Also", "bold"))
        _reasons(found.hints)


def _show_store(store: Checked) -> None:
    put((terminal_line(f"{store.path}" + (f" (profile {store.profile})" if store.profile else "")), "bold"))
    if store.error is not None:
        facts = [("can't be read", store.error), ("beside it", _beside(store)), ("other files", _legacy(store))]
        print_facts([(label, text) for label, text in facts if text])
    else:
        print_facts([(label, text) for label, text in _facts(store) if text])
    for head, lines, colour in (("Not readable", store.damage, "red"), ("Warnings", store.warnings, "yellow")):
        if lines:
            put()
            put((f"  {head}", f"bold {colour}"))
            for line in lines[:_SHOWN]:
                _paragraph(line, "  * ", "")
            if len(lines) > _SHOWN:
                put((f"    … and {len(lines) - _SHOWN} more (--json has them all)", "dim"))
    for head, reasons in (("Why a session may seem missing", store.reasons), ("What to do", store.commands)):
        if reasons:
            put()
            put((f"  {head}", "bold"))
            _reasons(reasons)


def _reasons(reasons: Sequence[Reason]) -> None:
    for reason in reasons:
        _paragraph(reason.text, "  * ", "")
        if reason.command:
            # A command stays on one line, so that it can be copied.
            put((f"      {terminal_line(reason.command)}", "cyan"))


def _paragraph(text: str, before: str, style: str) -> None:
    for number, line in enumerate(wrapped(terminal_line(text), (columns() or 100) - len(before))):
        put((before if not number else " " * len(before), "dim"), (line, style))


def _facts(store: Checked) -> list[tuple[str, str]]:
    figures = store.figures
    facts = [("format", store.format), ("size", _size(store)), ("beside it", _beside(store)), ("read", store.how)]
    if store.format == "hermes":
        facts += [("open in", _holders(store))]
    counts = ((figures.live, "live"), (figures.archived, "archived"), (figures.pinned, "pinned"))
    facts.append(("sessions", _counted(figures.sessions, counts)))
    taken_back = figures.rewound - figures.beside
    hidden = ((figures.compacted, "compacted"), (taken_back, "taken back"), (figures.beside, "beside the main line"))
    facts.append(("messages", _counted(figures.messages, hidden)))
    if store.only_in_files is not None:
        facts.append(("only in files", _only(store.only_in_files)))
    if store.unknown:
        facts.append(("not known", _unknown(store)))
    if store.format == "hermes":
        facts[0] = ("format", f"hermes, {_schema(store)}")
        facts += [
            ("links", _links(store)),
            ("search index", _search(store)),
            ("damage", "found: see below" if store.damage else "none found"),
            ("auto-prune", _retention(store)),
            ("other files", _legacy(store)),
        ]
    return facts


def _only(found: OnlyInFiles) -> str:
    """Say what the database of the same home lacks of what is in files."""
    whole = f"{count(found.sessions, 'session')} with {count(found.messages, 'message')}"
    if found.parts is None:
        return f"{whole}; what else the database lacks was not looked for (--quick)"
    parts = f"{count(found.messages_of_parts or 0, 'message')} of {count(found.parts, 'session')}"
    return f"{whole}; {parts} that the database holds too"


def _unknown(store: Checked) -> str:
    """Say which types and keys were met that the reader has no word for; they are kept all the same."""
    total: dict[str, int] = {}
    for found in store.unknown.values():
        for what, times in found.items():
            total[what] = total.get(what, 0) + times
    most = sorted(total, key=lambda what: (-total[what], what))
    more = f", and {len(most) - _SHOWN} more (--json has them all)" if len(most) > _SHOWN else ""
    named = sorted(version for version in store.unknown if version not in ("", "unknown"))
    versions = f" (versions {', '.join(named)})" if named else ""
    return ", ".join(f"{what} {total[what]:,}x" for what in most[:_SHOWN]) + more + versions + "; kept, and shown as they are"


def _legacy(store: Checked) -> str:
    return "; ".join(f"{count(kind.files, 'file')} {kind.where} ({size(kind.bytes)})" for kind in store.legacy)


def _schema(store: Checked) -> str:
    if store.schema is None:
        return "of no known schema version"
    known = store.known_schema or 0
    if store.schema > known:
        return f"schema {store.schema}, newer than the newest known one ({known})"
    return f"schema {store.schema}" + (" (the newest known)" if store.schema == known else f" (the newest known is {known})")


def _size(store: Checked) -> str:
    return size(store.figures.bytes) + (f", of which {size(store.free)} are free pages" if store.free else "")


def _beside(store: Checked) -> str:
    """Say what lies beside the database, and what that means."""
    if store.format not in ("hermes", ""):
        return ""
    names = {name.rpartition("-")[2]: octets for name, octets in store.beside.items()}
    if names.get("journal"):
        return f"a rollback journal of {size(names['journal'])}: a write was cut off, and is undone in the copy that is read"
    if not names.get("wal"):
        return "no WAL: everything is in the file itself" if store.error is None else ""
    text = f"a WAL of {size(names['wal'])}: newer rows that the file itself lacks; they are read too"
    if store.only_in_wal is not None and not store.only_in_wal.messages and not store.only_in_wal.sessions:
        text = f"a WAL of {size(names['wal'])}, whose new rows are in the file already; it is read too"
    return text if "shm" in names else f"{text}. Its -shm is gone: its writer did not end cleanly, or this is a copy"


def _holders(store: Checked) -> str:
    if store.holders is None:
        return "unknown (this system does not tell)"
    if not store.holders:
        return "no process that can be seen"
    return ", ".join(f"{each.name or 'a process'} (process {each.pid})" for each in store.holders)


def _counted(total: int, parts: tuple[tuple[int, str], ...]) -> str:
    named = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"{total:,}" + (f" ({named})" if named else "")


def _links(store: Checked) -> str:
    if store.orphans is None:
        return "unknown: it is too damaged to tell"
    faults = []
    if store.orphans[0]:
        faults.append(f"{count(store.orphans[0], 'message')} without a session's row")
    if store.missing_parents:
        faults.append(f"{count(store.missing_parents, 'parent session')} not there any more")
    return ", ".join(faults) or "every message has its session, every parent is there"


def _search(store: Checked) -> str:
    found = store.search
    if found is None:
        return "unknown"
    if not found.tables:
        return "none" if not found.triggers else "broken: its triggers are there and its tables are not, so Hermes can't write"
    state = "being rebuilt" if found.rebuilding else "marked as stale" if found.stale else ""
    return ", ".join(found.tables) + (f" ({state})" if state else "")


def _retention(store: Checked) -> str:
    kept = store.retention
    if kept is None:
        return ""
    last = f"; last run {local(store.last_prune)}" if local(store.last_prune) else ""
    archive = "" if kept.auto_archive is None else f"; auto_archive is {kept.auto_archive}"
    if not kept.auto_prune:
        would = f"; if it were on, it would delete {count(store.next_prune, 'session')} now" if store.next_prune else ""
        return f"off: Hermes deletes nothing by itself{would}{last}{archive}"
    vacuum = (
        f", then VACUUM, at most every {kept.min_vacuum_interval_days:g} days" if kept.vacuum_after_prune else ", without VACUUM"
    )
    return (
        f"ON: ended sessions idle for {kept.retention_days:g} days are deleted, every {kept.min_interval_hours:g} hours{vacuum}; "
        f"{count(store.next_prune, 'session')} would go now{last}{archive}"
    )

"""
What `doctor` says of what it found: why a session may seem missing, and which command shows or mends it.

The findings are `satchel.doctoring`'s; here they become sentences.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from satchel.diagnosis import Checked, Diagnosis, Reason
from satchel.errors import JsonError
from satchel.sources import Source, is_stdin, of_agents, real_path
from satchel.timetext import local
from satchel.wording import argument, count, size

__all__ = ["address", "export_command", "hint_at_claude", "hint_at_others", "say_why"]

# Sources and marks that Hermes' own list leaves out.
_HIDDEN_SOURCES = ("tool",)


def address(source: Source, used: Path) -> str:
    """Return the options that name a store to other commands; "" for the one they take by themselves in the home `used`."""
    if real_path(source.path) == real_path(used / "state.db"):
        return ""
    if is_stdin(source.path):
        return "--from -"
    if source.reader != "hermes" and source in of_agents(os.environ):
        return f"--from {source.reader}"
    if source.profile is not None and real_path(source.path) == real_path(used / "profiles" / source.profile / "state.db"):
        # With `=` no name can pass for an option.
        return (
            shlex.quote(f"--profile={source.profile}")
            if source.profile.startswith("-")
            else f"--profile {shlex.quote(source.profile)}"
        )
    return f"--from {argument(str(source.path))}"


def _command(checked: Checked, words: str, after: str = "") -> str:
    return " ".join(part for part in (words, checked.address, after) if part)


def export_command(checked: Checked) -> Reason:
    """Return how to carry the store's sessions over."""
    if checked.lost or checked.damage:
        text = "Carry over all that can still be read; what can't be is named:"
    else:
        text = "Copy every session, with a manifest that `satchel verify` checks:"
    return Reason(text, _command(checked, f"satchel export {checked.format or 'hermes'}-sessions.jsonl"))


_LIST = "satchel list --limit 0"


def say_why(checked: Checked) -> None:
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
            yield Reason(text, f"cp {link} {argument(os.path.basename(file) + '.rescued')}")
    yield export_command(checked)
    if checked.free and checked.free > max(1 << 20, checked.figures.bytes // 10):
        yield Reason(f"VACUUM would give back {size(checked.free)} or more. With Hermes stopped:", "hermes sessions optimize")


def hint_at_others(found: Diagnosis) -> None:
    """Say which stores the other commands do not take by themselves."""
    used = real_path(found.looked_at[0])
    for store in (store for store in found.stores if store.format in ("hermes", "")):
        folder = store.path.parent if store.profile is None else store.path.parent.parent.parent
        if real_path(folder) != used:
            text = f"{store.path} is outside the home in use ({found.looked_at[0]}): other commands take it only by its path"
            found.hints.append(Reason(text, _command(store, "satchel list")))
    profiles = [store.profile for store in found.stores if store.profile is not None]
    if profiles and len(found.stores) > 1:
        text = (
            f"a session may be in another profile: there are {', '.join(['default', *profiles])}; export takes the main one alone"
        )
        found.hints.append(Reason(text, "satchel export all.jsonl --profile all"))


def hint_at_claude(found: Diagnosis, environ: Mapping[str, str]) -> None:
    """Name Claude Code's own clean-up, if it is here: its logs go after 30 days unless it is told otherwise."""
    from satchel.jsontext import loads

    folder = Path(os.path.expanduser(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"))
    if not os.path.isdir(folder):
        return
    days: Any = None
    try:
        settings = loads(_beginning(folder / "settings.json", 1 << 20))
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


def _beginning(path: Path, most: int) -> bytes:
    """Return the beginning of a regular file; a pipe, which would keep whoever opens it waiting, is an OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return file.read(most)

"""`satchel export`."""

from __future__ import annotations

import os
import sys
from typing import Any

import satchel
from satchel.cli import declare
from satchel.cli._options import chosen, events, filters, json_output, sources
from satchel.cli._output import Teller, print_json, say, say_left_out
from satchel.cli._redaction import given, protected, redaction, tell_removed
from satchel.cli.running import echo
from satchel.errors import RedactionError, UsageError
from satchel.wording import argument, count

__all__ = ["command"]

_SHOWN = 100
_DOCUMENTS = ("md", "qmd")


@declare.command(
    name="export",
    epilog="Example: satchel export telegram.jsonl --source telegram --newer-than 30d",
)
@declare.argument("output", required=False)
@declare.option(
    "--format", "format_", default="jsonl", metavar="NAME", help="Output format; `satchel formats` lists them. [jsonl]"
)
@declare.option(
    "--only",
    metavar="user-prompts",
    help="Just what people typed: a JSON line a prompt, or with md a document; goes to standard output without OUTPUT.",
)
@declare.option(
    "--detail",
    choices=("full", "chat", "prompts"),
    help="md, qmd: show everything, what people and models said, or what people typed. [full]",
)
@declare.option(
    "--body",
    choices=("rendered", "verbatim"),
    help="md, qmd: keep texts as the Markdown they are, or show them letter by letter. [md: rendered, qmd: verbatim]",
)
@declare.option(
    "--images", choices=("files", "data", "none"), help="md, qmd: pictures as files, inside the document, or not. [files]"
)
@declare.option(
    "--lineage",
    choices=("single", "logical"),
    default="single",
    help="`logical` joins the segments of a compressed conversation into one. [single]",
)
@declare.option("--raw", flag=True, help="jsonl: put the original lines of sessions that come from logs into their records too.")
@declare.option("--redact", flag=True, help="Take secrets out, in every field; see docs/redaction.md.")
@declare.option("--no-redact", flag=True, help="Leave secrets in, where a format takes them out by default.")
@redaction()
@declare.option("--no-manifest", flag=True, help="Write no manifest, and in a folder no SHA256SUMS.")
@declare.option("--force", flag=True, help="Overwrite what is there.")
@declare.option(
    "-n",
    "--dry-run",
    flag=True,
    help="List what would be written, and write nothing. Sessions are not read whole, so damage inside of them is not known.",
)
@declare.option(
    "--stamp", flag=True, help="Note the time of the export in the manifest; without it, equal runs give equal bytes."
)
@sources
@filters(live=True)
@json_output
@events
def command(
    output: str | None,
    format_: str,
    only: str | None,
    detail: str | None,
    body: str | None,
    images: str | None,
    lineage: str,
    raw: bool,
    redact: bool,
    no_redact: bool,
    no_manifest: bool,
    force: bool,
    dry_run: bool,
    stamp: bool,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
    **options: Any,
) -> int:
    """
    Write sessions to OUTPUT: a file, a folder (an existing one, or a name that ends in /), or - for standard output.

    Without filters every session is written, live ones too; with filters only ended ones, unless --include-live or --session-id
    asks for them. md and qmd write a file a session into a folder, by default session-exports in Hermes' home, and take several
    sessions only with a filter. Where no session matches, nothing is written. A manifest with SHA-256 digests is written beside
    the output; `satchel verify` checks it.
    """
    from satchel import pipeline
    from satchel.sources import find

    wanted = given(options)
    selection = chosen(options)
    if only not in (None, "user-prompts"):
        raise UsageError(f"--only takes user-prompts, not {only!r}")
    if only and format_ not in ("jsonl", "md"):
        raise UsageError(f"--only user-prompts goes with the formats jsonl and md, not {format_}")
    shown = {name: value for name, value in (("detail", detail), ("body", body), ("images", images)) if value is not None}
    if shown and (only or format_ not in _DOCUMENTS):
        raise UsageError(f"--{next(iter(shown))} goes with the formats md and qmd, and not with --only")
    if raw and (only or format_ != "jsonl"):
        raise UsageError("--raw goes with the format jsonl, and not with --only")
    redact = _redacts(format_, redact, no_redact, wanted)
    if output is None and only:
        output = "-"
    if output is None and format_ in _DOCUMENTS and not dry_run:
        output = _usual_folder()
    if output is None and not dry_run:
        raise UsageError("name an OUTPUT: a file such as backup.jsonl, a folder such as backup/, or - for standard output")
    if output == "-" and format_ in _DOCUMENTS and not only:
        raise UsageError(f"the format {format_} writes a file a session: name a folder, not standard output")
    if output == "-" and as_json:
        raise UsageError("--json prints a summary on standard output, where the sessions go: name a file")
    if redact and output == "-" and wanted.get("verify_with"):
        raise UsageError("--verify-with looks at files before they get their names, and what is piped has none: name a file")
    with Teller(quiet=quiet, log_json=log_json) as tell:
        stores = find(from_, profile=profile, only_main=True, listen=tell)
        if profile is None and not from_:
            _tell_others(stores, quiet)
        if dry_run:
            return _show_plan(stores, selection, lineage, tell, as_json)
        use = protected(wanted, counts=True, force=force, listen=tell) if redact else None
        stamped = None
        if stamp:
            import time

            from satchel.timetext import iso_utc

            stamped = iso_utc(time.time(), whole=True)
        try:
            outcome = pipeline.export(
                stores,
                sys.stdout.buffer if output == "-" else output or "",
                format=format_,
                selection=selection,
                lineage="logical" if lineage == "logical" else "single",
                options=({"only": only} if only else {}) | ({"raw": True} if raw else {}) | shown,
                unfiltered=only is not None or format_ not in _DOCUMENTS,
                redactor=use.redactor if use else None,
                examine=use.examine if use else None,
                manifest=not no_manifest,
                force=force,
                version=satchel.__version__,
                stamp=stamped,
                listen=tell,
            )
        except RedactionError:
            if use:
                use.finish(gate="failed")
            raise
        if use:
            use.finish(gate="passed" if use.searches else "off")
    if as_json:
        print_json(
            {
                "sessions": outcome.sessions,
                "messages": outcome.messages,
                "files": outcome.files,
                "bytes": outcome.bytes,
                "lost": outcome.lost,
                "warnings": outcome.warnings,
                "output": outcome.output,
                "manifest": outcome.manifest,
                "sha256": outcome.digests,
                "left_out": outcome.tally.left_out,
            }
            | ({"replaced": use.report.total, "secrets": use.report.secrets()} if use else {})
        )
    if log_json:
        say_left_out(outcome.tally)
    elif not quiet:
        _summary(outcome, output == "-", bool(only))
        if use and outcome.sessions and use.searches:
            tell_removed(use.report, unit="session")
    return outcome.exit_code


def _usual_folder() -> str:
    """Return the folder that Hermes exports its documents to."""
    from satchel.formats.hermes_state.homes import home

    return os.path.join(home(os.environ), "session-exports", "")


def _redacts(format_: str, redact: bool, no_redact: bool, wanted: dict[str, Any]) -> bool:
    """Return whether secrets are taken out. Raises UsageError for options that say nothing together."""
    from satchel.formats import registry

    usual = bool(getattr(registry.writer(format_), "redacts", False))
    if redact and no_redact:
        raise UsageError("--redact and --no-redact say the opposite: give one of them")
    if no_redact and not usual:
        raise UsageError(f"--no-redact says nothing: the format {format_} is not redacted unless --redact is given")
    redact = redact or bool(wanted.get("skeleton")) or (usual and not no_redact)
    if wanted and not redact:
        option = {"rules_from": "rules"}.get(next(iter(wanted)), next(iter(wanted))).replace("_", "-")
        raise UsageError(f"--{option} says how secrets are taken out: give --redact too")
    if no_redact:
        say("warning: secrets stay in what is written (--no-redact)")
    return redact


def _tell_others(stores: list[Any], quiet: bool) -> None:
    from satchel.sources import find_all

    if quiet:
        return
    taken = {store.path for store in stores}
    left = [store for store in find_all() if store.path not in taken]
    profiles = sum(store.reader == "hermes" for store in left)
    if profiles:
        say(f"{profiles} more Hermes profile{'s are' if profiles > 1 else ' is'} here; --profile all takes them too")
    for store in left:
        if store.fault is not None:
            say(f"there may be sessions of {store.reader} in {store.path}, which can't be read: {store.fault}")
    agents = sorted({store.reader for store in left if store.fault is None} - {"hermes"})
    if agents:
        names = " and ".join(filter(None, (", ".join(agents[:-1]), agents[-1])))
        say(f"sessions of {names} are here too; {' '.join(f'--from {name}' for name in agents)} takes them")


def _summary(outcome: Any, to_stdout: bool, prompts: bool) -> None:
    what = "prompt" if prompts else "message"
    if not outcome.sessions:
        say("no session matches; nothing was written")
    else:
        say(f"{count(outcome.sessions, 'session')}, {count(outcome.messages, what)}, {outcome.bytes:,} bytes")
    say_left_out(outcome.tally)
    if outcome.sessions and (to_stdout or outcome.manifest is None):
        for name, digest in outcome.digests.items():
            say(f"sha256 {digest}" + (f"  {name}" if name else ""))
    if outcome.output:
        say(f"written to {outcome.output}")
    if outcome.manifest:
        path = argument(_short(outcome.output or ""))
        say(f"manifest: {os.path.basename(outcome.manifest)}; check it any time with: satchel verify {path}")
    if outcome.lost:
        say(f"{count(outcome.lost, 'record')} or more could not be read; see above, and the manifest says so")


def _short(path: str) -> str:
    """Return a path from the current folder on where it lies below it."""
    try:
        short = os.path.relpath(path)
    except (OSError, ValueError):  # The current folder is gone, or on another drive.
        return path
    return path if short.startswith("..") else short


def _show_plan(stores: list[Any], selection: Any, lineage: str, tell: Teller, as_json: bool) -> int:
    from contextlib import ExitStack

    from satchel import pipeline
    from satchel.naming import terminal_line
    from satchel.selection import Tally
    from satchel.sources import open_all
    from satchel.timetext import local
    from satchel.views import Losses, settled

    def look(private: bool) -> tuple[list[tuple[Any, list[str]]], Tally, int]:
        tally, hear = Tally(), Losses(tell)
        with ExitStack() as stack:
            opened = list(open_all(stack, stores, listen=hear, private=private))
            mode: pipeline.LineageMode = "logical" if lineage == "logical" else "single"
            plans = pipeline.plan(opened, selection, ended_only=not selection.takes_live, lineage=mode, tally=tally)
            rows = [
                (item.store.session(segments[-1], counts=False), segments)
                for item in plans
                for family in item.families
                for segments in family
            ]
            for _, store in opened:
                store.check()
        return rows, tally, hear.lost

    rows, tally, lost = settled(look, tell)
    if as_json:
        print_json([{"session_id": i.id, "source": i.source, "title": i.title, "segments": ids} for i, ids in rows])
    else:
        for info, ids in rows[:_SHOWN]:
            more = f"  ({len(ids)} segments)" if len(ids) > 1 else ""
            title = f"  {info.title}" if info.title else ""
            echo(terminal_line(f"{info.id}  {info.source or ''}  {local(info.started_at)}{title}{more}"))
        if len(rows) > _SHOWN:
            echo(f"… and {len(rows) - _SHOWN} more")
    words = selection.describe()
    say(f"{count(len(rows), 'session')} would be written" + (f" ({words})" if words else "") + "; nothing was written")
    if rows:
        say("what is damaged inside of them is not known: only a run that writes reads them whole")
    say_left_out(tally)
    return 3 if lost else 0

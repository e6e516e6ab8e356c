"""`satchel scan`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from satchel.cli import declare
from satchel.cli._options import chosen, events, filters, json_output, sources
from satchel.cli._output import Teller, print_json, say
from satchel.cli._redaction import given, protected, redaction, tell_removed
from satchel.cli.running import echo
from satchel.errors import UsageError
from satchel.wording import count

if TYPE_CHECKING:
    from satchel.protecting import Protection
    from satchel.redacting import Finding

__all__ = ["command"]

_LISTED = 100_000


@declare.command(name="scan", epilog="Example: satchel scan backup/manifest.jsonl")
@declare.argument("paths", required=False, multiple=True, metavar="[PATH]...")
@declare.option("--explain", flag=True, help="Say of every place why the rule found it; no value is shown.")
@declare.option("--force", flag=True, help="Overwrite what has the name of the report.")
@redaction(removes=False)
@sources
@filters(live=True)
@json_output
@events
def command(
    paths: tuple[str, ...],
    explain: bool,
    force: bool,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
    **options: Any,
) -> int:
    """
    Look for secrets and write nothing: in files and folders (PATH, or - for standard input), or with --from in the sessions of
    stores.

    Prints place, rule and tag of each finding, never a value. Exit status 1 when there is any, 0 when there is none.
    """
    wanted = given(options)
    filtered = any(options.values())
    selection = chosen(options)
    if not paths and not from_:
        raise UsageError("name a file or a folder, or say which store with --from: satchel scan --from hermes")
    if paths and from_:
        raise UsageError("PATH looks into files, --from into the sessions of stores: give one of them")
    if paths and (filtered or profile is not None):
        raise UsageError("filters and --profile choose among the sessions of a store: they go with --from")
    if from_ and (explain or wanted.get("verify_with")):
        raise UsageError(
            "--explain and --verify-with look at files: they go with PATH, and for stores with `satchel export --redact`"
        )
    with Teller(quiet=quiet, log_json=log_json) as tell:
        use = protected(wanted, counts=bool(from_), force=force, listen=tell)
        if from_:
            return _stores(use, from_, profile, selection, as_json, quiet, tell)
        return _files(use, paths, explain, as_json, quiet, tell)


def _files(use: Protection, paths: tuple[str, ...], explain: bool, as_json: bool, quiet: bool, tell: Teller) -> int:
    from satchel import redacting

    found: list[dict[str, Any]] = []
    total = files = lost = 0
    folder = ""

    def hear(finding: Finding) -> None:
        nonlocal total
        total += 1
        # As whoever asked can open it.
        finding = finding._replace(file=os.path.join(folder, finding.file)) if folder else finding
        if not as_json:
            echo(redacting.explained(finding, use.policy if explain else None))
        elif len(found) < _LISTED:
            found.append(finding._asdict())

    for path in paths:
        folder = _told(use, path) if redacting.is_folder(path) and path != os.curdir else ""
        outcome = redacting.scan_path(path, redactor=use.redactor, report=use.report, hear=hear, opinions=use.look, listen=tell)
        files += outcome.files
        lost += outcome.lost
    use.finish()
    if as_json:
        print_json({"findings": found, "total": total, "files": files})
    _tell(use, quiet, "file", count(files, "file"))
    return 1 if total else 3 if lost else 0


def _told(use: Protection, path: str) -> str:
    """Return a path as it may be told."""
    from satchel.contracts import Telling

    return use.redactor.told(path) if isinstance(use.redactor, Telling) else path


def _stores(
    use: Protection, from_: tuple[str, ...], profile: str | None, selection: Any, as_json: bool, quiet: bool, tell: Teller
) -> int:
    from satchel import scanning
    from satchel.naming import terminal_line
    from satchel.sources import find

    stores = find(from_, profile=profile, listen=tell)
    seen = scanning.scan_stores(stores, selection, redactor=use.redactor, listen=tell)
    use.finish()
    places = scanning.places(use.report)
    if as_json:
        print_json({"findings": [place._asdict() for place in places], "total": use.report.total, "sessions": seen.sessions})
    else:
        for place in places:
            echo(terminal_line(f"{place.session}: {place.field}: {place.rule} ({place.strength}), {count(place.times, 'time')}"))
    _tell(use, quiet, "session", count(seen.sessions, "session"))
    return 1 if places else 3 if seen.lost else 0


def _tell(use: Protection, quiet: bool, unit: str, looked: str) -> None:
    if not quiet:
        say(f"looked at {looked}")
        tell_removed(use.report, unit=unit, verb="found")

"""`satchel verify`."""

from __future__ import annotations

from typing import Any

from satchel.cli import declare
from satchel.cli._options import events, json_output, sources
from satchel.cli._output import Teller, print_json, say
from satchel.cli.running import echo
from satchel.errors import UsageError
from satchel.wording import count

__all__ = ["command"]


@declare.command(name="verify", epilog="Example: satchel verify backup/ --content")
@declare.argument("path")
@declare.option("--content", flag=True, help="Also read what the files say, and compare it with what was written.")
@declare.option("--source", "source", flag=True, help="Also compare with the stores as they are now.")
@sources
@json_output
@events
def command(
    path: str,
    content: bool,
    source: bool,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
) -> int:
    """
    Compare an export with its manifest and name everything that is missing, altered, or not listed.

    PATH is a folder, a file with its manifest beside it, or a manifest.
    """
    from satchel.verifying import check

    if (from_ or profile is not None) and not source:
        raise UsageError("--from and --profile say which stores --source compares with: give --source too")

    with Teller(quiet=quiet, log_json=log_json) as tell:
        report = check(path, content=content, listen=tell)
        findings = list(report.findings)
        if source:
            from satchel.sources import find
            from satchel.verifying import compare_with_sources

            findings += compare_with_sources(report, find(from_, profile=profile or "all", listen=tell), listen=tell)
    if as_json:
        print_json(
            {
                "ok": not findings,
                "manifest": report.manifest,
                "files": report.files,
                "sessions": report.sessions,
                "bytes": report.bytes,
                "incomplete": report.incomplete,
                "lost": report.lost,
                "findings": [_finding(finding) for finding in findings],
                "notes": [_finding(note) for note in report.notes],
            }
        )
    else:
        from satchel.naming import terminal_line

        for finding in findings:
            echo(terminal_line(f"{finding.kind}: {finding.message}"))
    if not quiet:
        for note in report.notes:
            say(f"note: {note.message}")
        if findings:
            say(f"{count(len(findings), 'fault')} in {path}")
        else:
            what = f"{count(report.files, 'file')}, {count(report.sessions, 'session')}, {report.bytes:,} bytes"
            say(f"{what}: all as the manifest says{_but(report)}")
    return 1 if findings else 0


def _but(report: Any) -> str:
    """Say what the copy is not, though it is as it was written."""
    but = []
    if report.incomplete or report.lost:
        but.append("not all was read whole when this was written")
    if any(note.kind == "unchecked" for note in report.notes):
        but.append("not all content was compared")
    return ", but " + ", and ".join(but) + " (see above)" if but else ""


def _finding(finding: Any) -> dict[str, str]:
    return {"kind": finding.kind, "path": finding.path, "message": finding.message}

"""`satchel redact`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from satchel.cli import declare
from satchel.cli._options import events, json_output
from satchel.cli._output import Teller, print_json, say
from satchel.cli._redaction import given, protected, redaction, tell_removed
from satchel.cli.running import echo
from satchel.errors import UsageError
from satchel.wording import count

if TYPE_CHECKING:
    from satchel.redacting import Finding

__all__ = ["command"]


@declare.command(name="redact", epilog="Example: satchel redact backup.jsonl -o clean.jsonl")
@declare.argument("path")
@declare.option(
    "-o", "--output", metavar="OUT", help="A file, for a folder a folder; - for standard output, as without it for a file."
)
@declare.option("--in-place", flag=True, help="Put the redacted file in the place of the original.")
@declare.option("--force", flag=True, help="Overwrite what is there.")
@declare.option("--copy-binary", flag=True, help="Copy files that are no text as they are; without it they are left out.")
@declare.option("--explain", flag=True, help="Say of every place which rule found it, and why; no value is shown.")
@redaction()
@json_output
@events
def command(
    path: str,
    output: str | None,
    in_place: bool,
    force: bool,
    copy_binary: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
    **options: Any,
) -> int:
    """
    Remove secrets from PATH: a file of text, JSON or JSON Lines, a folder of them, or - for standard input.

    Every file is gone over twice: what one line shows to be a secret goes from every line of it, in encoded forms too. Lines stay
    lines, JSON stays JSON, and what holds no secret keeps every byte. Files packed by gzip or zstandard are read, and written as
    they were.
    """
    from satchel import redacting

    if output is not None and in_place:
        raise UsageError("--in-place writes over the original, and -o names another file: give one of them")
    if in_place and path == "-":
        raise UsageError("--in-place needs a file: standard input has no place")
    to_stdout = not in_place and (output == "-" or output is None)
    if as_json and to_stdout:
        raise UsageError("--json prints a summary on standard output, where the text goes: name a file with -o")
    with Teller(quiet=quiet, log_json=log_json) as tell:
        use = protected(given(options), counts=False, force=force, listen=tell)
        if explain and use.policy.skeleton:
            raise UsageError("--skeleton looks for nothing, so there is nothing to --explain")

        def hear(finding: Finding) -> None:
            echo(redacting.explained(finding, use.policy), err=to_stdout)

        outcome = redacting.redact_path(
            path,
            sys.stdout.buffer if to_stdout and not redacting.is_folder(path) else None if to_stdout or in_place else output,
            redactor=use.redactor,
            report=use.report,
            in_place=in_place,
            force=force,
            copy_binary=copy_binary,
            hear=hear if explain else None,
            examine=use.examine,
            listen=tell,
        )
        use.finish(gate="off" if use.policy.skeleton else "passed")
    if as_json:
        print_json(
            {
                "files": outcome.files,
                "changed": outcome.changed,
                "skipped": outcome.skipped,
                "bytes": outcome.bytes,
                "replaced": use.report.total,
                "by_rule": {rule: entry["replaced"] for rule, entry in use.report.as_dict()["by_rule"].items()},
                "output": outcome.output,
            }
        )
    if not quiet and not log_json:
        if use.policy.skeleton:
            say(f"{count(outcome.files, 'file')} without any text")
        else:
            tell_removed(use.report, unit="file")
        if outcome.skipped:
            say(f"{count(outcome.skipped, 'file')} left out; see above")
        if outcome.output:
            say(f"written to {outcome.output}")
    return 3 if outcome.lost else 0

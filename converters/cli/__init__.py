"""
The command line: one module a command, found by name when it is called.

No logic lives here: a command reads its options, calls the library, and prints.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

import satchel
from satchel import stopping
from satchel.errors import SatchelError

__all__ = ["aside", "cli", "main", "run"]

# Name -> module and the line of help; nothing is imported to list them.
COMMANDS = {
    "export": ("satchel.cli.export", "Write sessions out, with a manifest that proves the copy."),
    "list": ("satchel.cli.list", "List sessions, newest first."),
    "show": ("satchel.cli.show", "Show one session as a conversation."),
    "stats": ("satchel.cli.stats", "Count sessions, messages, tokens and bytes."),
    "redact": ("satchel.cli.redact", "Remove secrets from files."),
    "scan": ("satchel.cli.scan", "Look for secrets in files or stores, and write nothing."),
    "verify": ("satchel.cli.verify", "Compare an export with its manifest."),
    "formats": ("satchel.cli.formats", "List the formats that can be read and written."),
    "doctor": ("satchel.cli.doctor", "Say which stores are here, how they are, and why a session may seem missing."),
}


STRICT, PROBLEMS = "satchel.strict", "satchel.problems"
"""Under these names the run's context keeps whether --strict was given, and whether a problem was met."""


class Command(click.Command):
    """A command that takes no empty option value for "not given"."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for param in self.params:
            value = ctx.params.get(param.name or "")
            values = value if isinstance(value, tuple) else (value,)
            if any(item == "" for item in values):
                name = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
                raise click.UsageError(f"{name} is empty: give a value, or leave it out.", ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        status = super().invoke(ctx)
        told = ctx.find_root().meta
        return 3 if not status and told.get(STRICT) and told.get(PROBLEMS) else status


class _Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            raise click.UsageError(f"there is no command {args[0]!r}" + (f"; did you mean {near[0]}?" if near else "."), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Example: satchel export backup.jsonl",
)
@click.version_option(satchel.__version__, "--version", prog_name="satchel", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Read AI-agent sessions from where agents leave them, convert them, and guard them."""
    if ctx.invoked_subcommand is None:
        aside(ctx.get_help())
        ctx.exit(2)


def main(args: list[str] | None = None) -> None:
    """Run the command line as a process of its own, and exit with its status."""
    stopping.watch()
    closed = sys.stdout is None
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A title may hold what the locale has no letter for.
            stream.reconfigure(errors="backslashreplace")
    status = run(sys.argv[1:] if args is None else args)
    if closed:
        sys.stdout = None
    sys.exit(status)


def _open_streams() -> None:
    """Give each standard stream that is closed a descriptor, so that no store is opened under its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        # Whoever writes to it shall hear that it is closed, as from every other program.
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115


def aside(line: str | bytes) -> None:
    """Print a line on standard error; a run whose messages can't be written, or are not wanted any more, goes on."""
    with suppress(OSError, ValueError):
        click.echo(line, err=True)


def run(args: list[str]) -> int:
    """Run one command and return its exit status; whatever goes wrong becomes one sentence on standard error."""
    stopping.begin()
    try:
        try:
            return _run(args)
        finally:
            _clean()
    except (KeyboardInterrupt, click.Abort, stopping.Stopped) as stop:
        _clean()
        stopping.over()
        status = stop.status if isinstance(stop, stopping.Stopped) else 130
        _complain(args, "interrupted; nothing half-written is under its final name", status)
        return status
    finally:
        stopping.over()


def _run(args: list[str]) -> int:
    try:
        status = cli.main(args=args, prog_name="satchel", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        # Wrong words: 2, whatever exception click chose for them.
        if isinstance(error, click.UsageError) and error.ctx is not None and "--log-json" not in args:
            aside(f"Usage: {' '.join(error.ctx.get_usage().split()[1:])}")
            aside(f"Try 'satchel {error.ctx.info_name} --help'." if error.ctx.parent else "Try 'satchel --help'.")
        _complain(args, error.format_message(), 2)
        return 2
    except click.Abort:
        raise  # It is no failure: `run` has the word for it.
    except SatchelError as error:
        _trace(args)
        _complain(args, error.message, error.exit_code)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has enough of it.
        _forget_output()
        return 1
    except MemoryError:
        _complain(args, "the machine has not enough memory for this", 1)
        return 1
    except OSError as error:
        _trace(args)
        if error.filename is not None:
            _complain(args, f"{error.filename}: {error.strerror or error}", 1)
        elif error.errno == errno.ENOENT:
            # Nothing but asking for the current folder fails so without a name.
            _complain(args, "the current folder is gone, and a path is relative to it: give full paths", 1)
        else:
            _forget_output()
            _complain(args, f"the output: {error.strerror or error}", 1)
        return 1
    except Exception as error:
        _trace(args)
        what = f"{type(error).__name__}: {error}"
        _complain(args, f"an error in Satchel itself: {what} (run with --debug for its place, and report it)", 1)
        return 1


def _trace(args: list[str]) -> None:
    if "--debug" in args:
        from traceback import format_exc

        aside(format_exc().rstrip())


def _forget_output() -> None:
    """Let what is still in the buffers of standard output go nowhere, so that the interpreter does not try it once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _clean() -> None:
    sources: Any = sys.modules.get("satchel.sources")
    if sources is not None:
        sources.forget_stdin()


def _complain(args: list[str], message: str, status: int) -> None:
    if "--log-json" in args:
        from satchel.cli._output import safe_json
        from satchel.events import Failed, as_dict

        aside(safe_json(as_dict(Failed(message, status))))
        return
    from satchel.naming import terminal_line

    aside(f"satchel: {terminal_line(message)}")

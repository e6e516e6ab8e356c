"""The command line as click knows it: for help, for completion, and to say what is wrong with words that are not as declared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

import satchel
from satchel.cli import COMMANDS, complain, declared
from satchel.cli.declare import Command, Param
from satchel.cli.running import aside

__all__ = ["call", "cli"]


class _Command(click.Command):
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


def _made(command: Command) -> click.Command:
    params: list[click.Parameter] = [_option(param) if param.spellings else _argument(param) for param in command.params]
    return _Command(command.name, callback=command, params=params, help=command.function.__doc__, epilog=command.epilog)


def _option(param: Param) -> click.Option:
    words = [*param.spellings, param.name]
    if param.flag:
        return click.Option(words, is_flag=True, help=param.help)
    kind: Any = None
    if param.choices:
        kind = click.Choice(param.choices)
    elif param.least is not None:
        kind = click.IntRange(min=param.least)
    default = None if param.multiple else param.default
    return click.Option(words, default=default, multiple=param.multiple, type=kind, metavar=param.metavar, help=param.help)


def _argument(param: Param) -> click.Argument:
    nargs = -1 if param.multiple else 1
    return click.Argument([param.name], required=param.required, nargs=nargs, metavar=param.metavar)


class _Commands(click.Group):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _made(declared(cmd_name)) if cmd_name in COMMANDS else None

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


def call(args: Sequence[str]) -> int:
    """Let click read the words and call what they name; return the exit status. Wrong words are told on standard error."""
    words = list(args)
    try:
        status = cli.main(args=words, prog_name="satchel", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        # Wrong words: 2, whatever exception click chose for them.
        if isinstance(error, click.UsageError) and error.ctx is not None and "--log-json" not in words:
            aside(f"Usage: {' '.join(error.ctx.get_usage().split()[1:])}")
            aside(f"Try 'satchel {error.ctx.info_name} --help'." if error.ctx.parent else "Try 'satchel --help'.")
        complain(words, error.format_message(), 2)
        return 2
    except click.Abort:
        # It is no failure: `run` has the word for it.
        raise KeyboardInterrupt from None

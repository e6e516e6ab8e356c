"""Writes docs/cli.md from the commands' own help: `python docs/cli_reference.py > docs/cli.md`."""

from __future__ import annotations

import click

from satchel.cli import COMMANDS, cli

HEAD = """# Commands

Made from `satchel COMMAND --help` by docs/cli_reference.py; a test compares the two.

Data goes to standard output, everything else to standard error. Exit status: 0 done, 1 failed or a fault was found, 2 usage,
3 finished with losses, 130 interrupted (143 by SIGTERM).
"""


def reference() -> str:
    """Return the page."""
    parts = [HEAD, _help(cli, None, "satchel")]
    with click.Context(cli, info_name="satchel", help_option_names=["-h", "--help"]) as parent:
        for name in COMMANDS:
            command = cli.get_command(parent, name)
            assert command is not None
            parts.append(_help(command, parent, name))
    return "\n".join(parts)


def _help(command: click.Command, parent: click.Context | None, name: str) -> str:
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=100,
        max_content_width=100,
        help_option_names=["-h", "--help"],
    )
    title = f"satchel {name}" if parent else "satchel"
    return f"## {title}\n\n```\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")

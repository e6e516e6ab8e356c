"""Options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.cli.declare import option

if TYPE_CHECKING:
    from satchel.selection import Selection

__all__ = ["chosen", "events", "filters", "json_output", "sources"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _all(options: list[Callable[[Function], Function]]) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        for add_one in reversed(options):
            function = add_one(function)
        return function

    return add


def sources(function: Function) -> Function:
    """Add the options that say which stores are read."""
    return _all(
        [
            option(
                "--from",
                "from_",
                multiple=True,
                metavar="hermes|claude|codex|legacy|PATH|-",
                help="Where to read: an agent's name, a store, a folder, an export, or - for standard input. May be repeated.",
            ),
            option("--profile", metavar="NAME|all", help="A named profile of Hermes, `default`, or `all`."),
            option(
                "--strict",
                flag=True,
                help="End with status 3 when anything was not as it should be, a damaged line too.",
            ),
        ]
    )(function)


def events(function: Function) -> Function:
    """Add the options that say what is told on standard error."""
    return _all(
        [
            option("-q", "--quiet", flag=True, help="Tell errors only."),
            option("--log-json", flag=True, help="Tell events as JSON lines on standard error."),
            option("--debug", flag=True, help="Show where an error comes from."),
        ]
    )(function)


def json_output(function: Function) -> Function:
    """Add --json."""
    return option("--json", "as_json", flag=True, help="Print JSON.")(function)


# Option, metavar, help. `Selection` checks the values, so that library and command line say the same.
_TIMES = "a duration (30m, 5h, 2d, 1w), a number of days, or an ISO time (local unless it has a zone)"
_FILTERS: list[tuple[str, str, str]] = [
    ("--older-than", "TIME", f"Last active before: {_TIMES}."),
    ("--newer-than", "TIME", "Last active at or after."),
    ("--before", "TIME", "Started before."),
    ("--after", "TIME", "Started at or after."),
    ("--title", "TEXT", "Title has this in it, in any case."),
    ("--model", "TEXT", "Model's name has this in it."),
    ("--provider", "NAME", "Billing provider, exactly."),
    ("--branch", "TEXT", "Git branch has this in it."),
    ("--end-reason", "REASON", "Reason of its end, exactly."),
    ("--user", "ID", "User id, exactly."),
    ("--chat-id", "ID", "Chat id, exactly."),
    ("--chat-type", "TYPE", "Chat type, exactly."),
    ("--cwd", "PATH", "Working directory is this or below it."),
    ("--workspace", "NAME", "Git root, else working directory: has this in it, or is named so."),
    ("--min-messages", "N", "At least so many messages."),
    ("--max-messages", "N", "At most so many messages."),
    ("--min-tokens", "N", "At least so many tokens, input and output."),
    ("--max-tokens", "N", "At most so many tokens."),
    ("--min-cost", "USD", "Cost at least so much."),
    ("--max-cost", "USD", "Cost at most so much."),
    ("--min-tool-calls", "N", "At least so many tool calls."),
    ("--max-tool-calls", "N", "At most so many tool calls."),
]


def filters(*, live: bool = False, archived: bool = False) -> Callable[[Function], Function]:
    """
    Return what adds the filters; a session is taken when it passes all that are given.

    Args:
        live: The command leaves live sessions out unless asked: add --include-live.
        archived: It leaves archived ones out unless asked: add --include-archived.
    """
    options: list[Callable[[Function], Function]] = [
        option(
            "--session-id", "session_ids", multiple=True, metavar="ID", help="A session by its id or a unique prefix. Repeatable."
        ),
        option("--source", multiple=True, metavar="NAME", help="Source, exactly (cli, telegram, …). Repeatable."),
        option("--exclude-source", multiple=True, metavar="NAME", help="Not this source. Repeatable."),
        option(
            "--agent",
            multiple=True,
            metavar="NAME",
            help="Who wrote it: hermes, claude, codex, or a plug-in's agent. Repeatable.",
        ),
        option("--pinned", flag=True, help="Pinned sessions only."),
    ]
    if live:
        options.append(option("--include-live", flag=True, help="With filters: live sessions too."))
    if archived:
        options.append(option("--include-archived", flag=True, help="Archived (hidden) sessions too."))
    options += [option(name, metavar=metavar, help=text) for name, metavar, text in _FILTERS]
    return _all(options)


_NAMES = (
    *(name.lstrip("-").replace("-", "_") for name, _, _ in _FILTERS),
    *("session_ids", "source", "exclude_source", "agent", "pinned", "include_live", "include_archived"),
)


def chosen(options: dict[str, Any]) -> Selection:
    """Take the filters out of a command's options and return them as a selection. Raises UsageError."""
    import time

    from satchel.selection import selection

    return selection(now=time.time(), **{name: options.pop(name) for name in _NAMES if name in options})

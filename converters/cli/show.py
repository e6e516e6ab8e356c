"""`satchel show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from satchel.cli import declare
from satchel.cli._options import events, json_output, sources
from satchel.cli._output import Teller, columns, print_facts, print_json, put, safe_json, say
from satchel.errors import UsageError
from satchel.naming import display_width, terminal_line

if TYPE_CHECKING:
    from satchel.showing import Found, Recap

__all__ = ["command"]


@declare.command(name="show", epilog="Example: satchel show 20260302_0830 --recap")
@declare.argument("session_id", metavar="ID")
@declare.option("--recap", flag=True, help="Just the last ten exchanges, as Hermes shows them when a session is resumed.")
@declare.option("--all", "every", flag=True, help="Compacted and taken-back messages too, reasoning, and whole tool output.")
@sources
@json_output
@events
def command(
    session_id: str,
    recap: bool,
    every: bool,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
) -> int:
    """
    Show one session: what is known of it, then the conversation.

    ID is the session's id, the beginning of it, or a link @session:PROFILE/ID.
    """
    from satchel import showing
    from satchel.sources import find

    if recap and every:
        raise UsageError("--recap shows little and --all shows everything: choose one")
    with (
        Teller(quiet=quiet, log_json=log_json) as tell,
        showing.found_session(session_id, find(from_, profile=profile, listen=tell), listen=tell) as found,
    ):
        if as_json:
            if recap:
                print_json(showing.session_json(found) | {"recap": showing.recap(found.messages()).as_dict()})
            else:
                _stream_json(found, every)
        elif recap:
            _panel(found, showing.recap(found.messages()))
        else:
            _show(found, every)
        if found.also and not quiet:
            say(f"a session of this id is also in {', '.join(found.also)}; --profile or --from shows that one")
    return 3 if found.losses.lost else 0


def _stream_json(found: Found, every: bool) -> None:
    """Print the session message by message: it may be larger than memory."""
    from satchel.showing import message_json, session_json

    out = sys.stdout.buffer
    out.write(safe_json(session_json(found))[:-1] + b',"messages":[')
    for number, message in enumerate(found.messages(every=every)):
        out.write((b"," if number else b"") + safe_json(message_json(message, every=every)))
    only = [message_json(message, every=every) for message in found.only_in_files]
    out.write(b'],"messages_only_in_files":' + safe_json(only) + b"}\n")
    out.flush()


def _show(found: Found, every: bool) -> None:
    from satchel.showing import conversation, facts, hidden

    info = found.info
    put((terminal_line(info.title or "(no title)", columns()), "bold"))
    print_facts(facts(found))
    for line in conversation(found.messages(every=every), width=columns(), every=every):
        put(*line)
    if found.only_in_files:
        put()
        put(("Only in files: Hermes' database lacks these messages", "bold"))
        for line in conversation(found.only_in_files, width=columns(), every=every):
            put(*line)
    words = " and ".join(f"{number:,} {what}" for number, what in hidden(info))
    if words and not every:
        put()
        put((f"({words} messages are not shown; --all shows them)", "dim"))


def _panel(found: Found, recap: Recap) -> None:
    from satchel.wording import wrapped

    width = min(columns() or 80, 100)
    inner = width - 4
    title = " Previous Conversation "
    put((f"╭─{title}{'─' * (width - 3 - len(title))}╮", "dim"))

    def row(sign: str, colour: str, text: str) -> None:
        space = " " * max(0, inner - display_width(sign) - display_width(text))
        put(("│ ", "dim"), (sign, colour), (text, "dim"), (f"{space} │", "dim"))

    if recap.earlier:
        row("", "", f"... {recap.earlier} earlier messages ...")
    if not recap.exchanges:
        row("", "", "(nothing was said yet)")
    for who, text, tools in recap.lines():
        sign, colour = ("● ", "yellow") if who == "person" else ("◆ ", "green")
        lines = [part for part in wrapped(text, inner - 2) if text] + ([tools] if tools else [])
        for number, line in enumerate(lines):
            row("  " if number else sign, colour, terminal_line(line, inner - 2) if line == tools else line)
    put((f"╰{'─' * (width - 2)}╯", "dim"))

"""`satchel stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.cli import declare
from satchel.cli._options import chosen, events, filters, json_output, sources
from satchel.cli._output import Teller, print_facts, print_json, print_table, put
from satchel.naming import terminal_line
from satchel.timetext import local
from satchel.wording import size

if TYPE_CHECKING:
    from satchel.views import Figures

__all__ = ["command"]


@declare.command(name="stats", epilog="Example: satchel stats --newer-than 30d")
@sources
@filters()
@json_output
@events
def command(
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
    **options: Any,
) -> int:
    """
    Count sessions, messages, tokens, costs and bytes of every store that is here.

    Live and archived sessions are counted too.
    """
    from satchel.sources import find
    from satchel.views import statistics

    selection = chosen(options)
    with Teller(quiet=quiet, log_json=log_json) as tell:
        found = statistics(find(from_, profile=profile, listen=tell), selection, listen=tell)
    if as_json:
        stores = [{"store": each.label, "format": each.format, "profile": each.profile} | each.as_dict() for each in found.stores]
        print_json(found.total.as_dict() | {"stores": stores})
    else:
        _show(found.total)
        if len(found.stores) > 1:
            put()
            heads = ("Store", "Sessions", "Messages", "Size")
            rows = [(each.label, f"{each.sessions:,}", f"{each.messages:,}", size(each.bytes)) for each in found.stores]
            print_table(heads, rows, right=(1, 2, 3), cut=(0,))
    return 3 if found.lost else 0


def _show(total: Figures) -> None:
    # These lines are Hermes' own: scripts read them.
    put((f"Total sessions: {total.sessions}", ""))
    put((f"Total messages: {total.messages}", ""))
    for source, sessions in total.by_source():
        put((f"  {terminal_line(source or '(no source)')}: {sessions} sessions", ""))
    put((f"Database size: {total.bytes / 1024 / 1024:.1f} MB", ""))
    put()
    tokens = [(total.input, "in"), (total.output, "out"), (total.cache_read, "read from cache")]
    tokens += [(total.cache_write, "written to cache"), (total.reasoning, "reasoning")]
    ended = total.sessions - total.live
    live = total.messages - total.compacted - total.rewound
    beside = f", {total.beside:,} beside the main line" if total.beside else ""
    print_facts(
        [
            (
                "sessions",
                f"{total.live:,} live, {ended:,} ended; {total.archived:,} archived, {total.pinned:,} pinned",
            ),
            ("messages", f"{live:,} live, {total.compacted:,} compacted, {total.rewound - total.beside:,} taken back{beside}"),
            ("tool calls", f"{total.tool_calls:,}"),
            ("tokens", ", ".join(f"{number:,} {what}" for number, what in tokens)),
            ("cost", f"${total.cost:,.2f}"),
            ("oldest", local(total.oldest) or "—"),
            ("last active", local(total.newest) or "—"),
        ]
    )
    if total.models:
        put()
        heads = ("Model", "Sessions", "Messages", "Tokens in", "Tokens out", "Cost")
        rows = [
            (model or "(none)", f"{of.sessions:,}", f"{of.messages:,}", f"{of.input:,}", f"{of.output:,}", f"${of.cost:,.2f}")
            for model, of in total.by_model()
        ]
        print_table(heads, rows, right=(1, 2, 3, 4, 5), cut=(0,))

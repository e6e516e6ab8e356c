"""`satchel list`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.cli import declare
from satchel.cli._options import chosen, events, filters, json_output, sources
from satchel.cli._output import Teller, columns, print_json, print_table, say, say_left_out

if TYPE_CHECKING:
    from satchel.views import Row

__all__ = ["command"]

NO_TITLE = "—"
_ROOMY = 110


@declare.command(name="list", epilog="Example: satchel list --source telegram --limit 50")
@declare.option("--limit", least=0, default=20, help="Show so many; 0 for all. [20]")
@sources
@filters(archived=True)
@json_output
@events
def command(
    limit: int,
    from_: tuple[str, ...],
    profile: str | None,
    as_json: bool,
    quiet: bool,
    log_json: bool,
    debug: bool,
    **options: Any,
) -> int:
    """
    List sessions of every store that is here, the last active one first.

    Live sessions are listed too; archived ones only with --include-archived; pinned ones always, also beyond the limit.
    """
    from satchel.sources import find
    from satchel.views import listing

    selection = chosen(options)
    with Teller(quiet=quiet, log_json=log_json) as tell:
        found = listing(find(from_, profile=profile, listen=tell), selection, limit=limit, listen=tell)
    if as_json:
        print_json([row.as_dict() for row in found.rows])
    elif not found.rows:
        say("no session matches")
    else:
        _show(found.rows)
    if not quiet:
        if any(row.only_in_files for row in found.rows):
            say("+N: so many messages more are in Hermes' session files, and not in its database; `satchel show ID` shows them")
        if found.more:
            say(f"{found.more} more; --limit 0 shows all")
        say_left_out(found.tally)
    return 3 if found.lost else 0


def _show(found: Sequence[Row]) -> None:
    now = time.time()
    rows = [row.cells(now) for row in found]
    if len({row.info.profile for row in found}) > 1:
        profiles = [f"{row.info.source or ''} ({row.info.profile or 'default'})" for row in found]
        rows = [(*cells[:4], profile, *cells[5:]) for cells, profile in zip(rows, profiles, strict=True)]
    heads = ["Title", "Preview", "Msgs", "Last active", "Source", "ID"]
    room = columns()
    if room is None or room >= _ROOMY:
        print_table(heads, rows, right=(2,), cut=(1, 0))
    else:
        # Two narrow columns would say nothing: the preview stands where a title is missing.
        short = [(preview if title == NO_TITLE else title, *rest) for title, preview, *rest in rows]
        print_table([heads[0], *heads[2:]], short, right=(1,), cut=(0,))

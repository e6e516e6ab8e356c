"""`satchel formats`."""

from __future__ import annotations

from satchel.cli import declare
from satchel.cli._options import events, json_output
from satchel.cli._output import Teller, columns, print_json, print_table

__all__ = ["command"]


@declare.command(name="formats", epilog="Example: satchel formats --json")
@json_output
@events
def command(as_json: bool, quiet: bool, log_json: bool, debug: bool) -> int:
    """
    List what can be read, and what can be written: the names that --format takes, and what --from finds in a path.

    Formats of plug-ins are listed with the package that brings them.
    """
    from satchel.formats.registry import known

    with Teller(quiet=quiet, log_json=log_json) as tell:
        readers, writers = known("readers", listen=tell), known("writers", listen=tell)
    if as_json:
        print_json(
            {
                role: [{"name": each.name, "summary": each.summary, "origin": each.origin} for each in formats]
                for role, formats in (("readers", readers), ("writers", writers))
            }
        )
        return 0
    rows = [("read", each.name, each.summary or "—", each.origin) for each in readers]
    rows += [("write", each.name, each.summary or "—", each.origin) for each in writers]
    print_table(("", "Name", "What it is", "From"), rows, cut=(2,) if columns() else ())
    return 0

"""
Values that stand apart from their names: below a column's head, in a statement of SQL, on the next line, or beside a name with
no sign between the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from satchel.redaction.likely import drawn, secret_in, trimmed
from satchel.redaction.names import Name
from satchel.redaction.spans import Span

__all__ = ["Tables", "below", "beside", "column", "inserted"]

_RULER = re.compile(r"[ |:=+\-]{3,512}(?=\r?\n)")

Tables = dict[tuple[str, int, int, Name], int]
"""Up to where tables were gone through: by the sign between their cells, how many these are, which of them, and by what name."""


def column(text: str, begin: int, end: int, name: Name, tables: Tables) -> Iterator[Span]:
    """Yield the values below a column's head: in a table of commas, tabs or bars. Heads in such a table are rows of it."""
    start = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", end)
    if stop < 0 or stop - start > 512:
        return
    head = text[start:stop]
    for sign in (",", "\t", "|", ";"):
        if sign in head:
            break
    else:
        return
    cells = [cell.strip().strip("\"'") for cell in head.split(sign)]
    if len(cells) < 2 or (sign != "|" and "" in cells) or any(not re.fullmatch(r"[\w .\-/]{0,40}", cell) for cell in cells):
        return
    at = head[: begin - start].count(sign)
    if cells[at] != text[begin:end]:
        return
    table = sign, len(cells), at, name
    if begin < tables.get(table, 0):
        return
    while stop < len(text):
        start, stop = stop + 1, text.find("\n", stop + 1)
        stop = len(text) if stop < 0 else stop
        if sign == "|" and start < stop < len(text) and _RULER.match(text, start) is not None:
            continue
        row = text[start:stop].split(sign)
        if start >= len(text) or len(row) != len(cells) or stop - start > 4096:
            return
        tables[table] = stop
        left = start + sum(len(cell) + 1 for cell in row[:at])
        cell = row[at]
        inner = cell.strip().strip("\"'")
        if inner:
            left += cell.index(inner)
            span = secret_in(text, left, left + len(inner), name, firm=True, quoted=True)
            if span is not None:
                yield span


_ROWS = re.compile(r"(?i)[^()]{0,512}\)\s{0,16}values\s{0,16}\(")
_CELL = re.compile(r"""\s{0,16}(?:[NnEe]?'(?P<value>[^'\n]{0,1024})'|[^\s,'"()]{0,128}|"[^"\n]{0,512}")\s{0,16}""")


def inserted(text: str, begin: int, end: int, name: Name) -> Iterator[Span]:
    """Yield what an SQL statement puts into a column: `INSERT INTO t (a, token) VALUES (1, '…'), (2, '…')`."""
    rows = _ROWS.match(text, end)
    left = text.rfind("(", max(0, begin - 512), begin)
    if rows is None or left < 0 or ")" in text[left:begin]:
        return
    column, at = text.count(",", left, begin), rows.end()
    for _ in range(1000):
        cell = _CELL.match(text, at)
        for _ in range(column):
            if cell is None or text[cell.end() : cell.end() + 1] != ",":
                return
            cell = _CELL.match(text, cell.end() + 1)
        if cell is None:
            return
        if cell["value"]:
            span = secret_in(text, *cell.span("value"), name, firm=True, quoted=True)
            if span is not None:
                yield span
        close = text.find(")", cell.end(), cell.end() + 2048)
        after = _NEXT_ROW.match(text, close + 1) if close >= 0 else None
        if after is None:
            return
        at = after.end()


_NEXT_ROW = re.compile(r"\s{0,16},\s{0,16}\(")
_BESIDE = re.compile(
    r"""(?x)
    ["'`*_]{0,3}
    (?: \t | [ ]{2,64} | [ ]{0,32} [│|┃] [ ]{0,4} | [ ]? , (?=[^\s,]) | [ ] \( | [ ]{0,2} (?: new \ value | value ) [ ]
      | (?: [ ,;:]{1,3} (?i: new | one | is | it's | its | was | should | be | the | a | my | our | now | please
           | here | this | that | with | using | use | as | to | put | value | changed | set | equals
           | reads | neu | neue | jetzt | hier | nouveau | nueva | from | dashboard ) \b ){0,7}
        [:,]? [ ] )
    ["'`(]{0,2} (?P<value> [\w+/=.~:!@#%^&*\-]{16,512} )
    """
)
_UNDER = re.compile(
    r"""(?x)
    ["'`*)}\]]{0,3} [ ]{0,2} (?: : | = | :?[ ]?[|>][+\-]? | [:=][ ]?<<-?~?"?\w{1,16}"? | :[ ]?!!\w{1,16} )? [ ]{0,4} \r? \n
    (?: [ \t]{0,8} (?: ```\w{0,12} )? \r?\n ){0,2}
    [ \t]{0,32} (?P<quote>["'`]?) (?P<value> [\w+/=.~:!@#%^&*\-]{16,512} ) (?P=quote) [ \t]{0,8} (?= \r?\n | \Z )
    """
)


def beside(text: str, end: int) -> tuple[int, int] | None:
    """Return what was drawn by lot and stands beside a name with no sign between: in a listing, or with a few words of prose."""
    near = _BESIDE.match(text, end)
    if near is None:
        return None
    start, stop = near.span("value")
    return drawn(text, start, trimmed(text, start, stop))


def below(text: str, end: int) -> tuple[int, int] | None:
    """Return what was drawn by lot and is all of the line below a name: a block of YAML or Markdown, what a command printed."""
    below = _UNDER.match(text, end)
    if below is None:
        return None
    start, stop = below.span("value")
    return drawn(text, start, stop)

"""
Wraps and listings: secrets that are broken over lines, or stand behind line numbers and other gutters.

Where a text was wrapped cannot be told for sure, so both readings are made around a place only: where a rule found something that
ends at a line's end, or the head of a secret that has several lines.
"""

from __future__ import annotations

import re

from satchel.redaction.views import View, sliced

__all__ = ["gutters", "joined", "unbroken"]

_LINES = 64
_SPAN = 16 << 10
_BEFORE = 8
_WIDTH = 24
"""No terminal is narrower; a shorter line that ends in a token ended there."""
_BLOCK_LINES = 512
_BLOCK = 64 << 10
_BLOCK_GUTTER = 256

_TOKEN = r"A-Za-z0-9_\-+/=.~%@:"
_TAIL = re.compile(rf"[{_TOKEN}]{{3}}")
_RUN = re.compile(rf"[{_TOKEN}]+")
_MARKS = re.compile(r"(?:[ \t]*(?:[│┃║|>]|[+\-](?![+\-]))[ \t]?)*[ \t]*")
_NUMBER = re.compile(r"[ \t]*([0-9]{1,7})(?:→|\t|:[ ]?|[ ]?[|│][ ]?)")
_INDENT = re.compile(r"[ \t]+")
_BORDERS = "│┃║|"
_QUOTE_END = re.compile(r"([\"'`])[ \t]*((?:\+|\.{1,2}|&|\|\|)?[ \t]*\\?)\Z")
_QUOTE_START = re.compile(r"[ \t]*(?:(\+|\.{1,2}|&|\|\|)[ \t]*)?[rRbBfFuU]{0,2}([\"'`])")
_NAMED = re.compile(
    r"(?:[A-Z][A-Z0-9_]{0,60}|[a-z][a-z0-9_.\-]{0,60}|[A-Za-z][a-z]{1,20}(?:-?[A-Z][a-z]{1,20}){0,6})[=:](?![=]|\Z)"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}|--|\.{0,2}/|[a-z]+://"
)
"""What begins a line of its own: a name and its value, a date, an option, a path, a URL."""
_COMMON_WIDTHS = frozenset(
    {40, 60, 64, 70, 72, 76, 78, 79, 80, 96, 98, 99, 100, 110, 118, 119, 120, 130, 132, 140, 160, 200, 240}
)


def joined(text: str | View, at: int, *, back: bool = True) -> View | None:
    """
    Return the lines around a place as they were before a terminal, a mail program or a writer broke them, or None.

    Taken out is what stands between the parts: line ends with the gutter or indent behind them, a backslash, `=` or the end and
    beginning of adjoining quoted strings before them. Only lines that hang together with the one of `at` are in the view: up to
    64, 16 KB.

    Args:
        text: A text, or a view of one; places in what is returned are then those of its original.
        at: Where in it the secret begins.
        back: Lines before that of `at` may be part of it too.
    """
    text, base = (text.text, text) if isinstance(text, View) else (text, None)
    low, high = max(0, at - _SPAN // 4), min(len(text), at + _SPAN)
    begin = text.rfind("\n", low, at) + 1 or low
    lines = [(begin, _line_end(text, begin, high))]
    cuts: list[tuple[int, int]] = []
    while back and len(lines) <= _BEFORE and lines[0][0] - 1 > low:
        end = lines[0][0] - 1
        before = (text.rfind("\n", low, end) + 1 or low, end)
        cut = _cut(text, before, lines[0])
        if cut is None or (cuts and cuts[0][0] < cut[1]):
            break
        cuts.insert(0, cut)
        lines.insert(0, before)
    while len(lines) < _LINES and lines[-1][1] < high:
        begin = lines[-1][1] + 1
        after = (begin, _line_end(text, begin, high))
        cut = _cut(text, lines[-1], after)
        if cut is None or (cuts and cut[0] < cuts[-1][1]):
            break
        cuts.append(cut)
        lines.append(after)
    if not cuts:
        return None
    starts = [lines[0][0], *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), lines[-1][1]]
    return sliced(text, list(zip(starts, ends, strict=True)), base)


def _line_end(text: str, begin: int, high: int) -> int:
    end = text.find("\n", begin, high)
    return high if end < 0 else end


def _cut(text: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int] | None:
    """Return what stands between a line's content and the next one's where the next carries it on, else None."""
    a = text[first[0] : first[1]].removesuffix("\r")
    b = text[second[0] : second[1]].removesuffix("\r")
    if not a or not b:
        return None
    quoted = _quotes(a, b)
    if quoted is not None:
        return first[0] + quoted[0], second[0] + quoted[1]
    left, begin, hanging = _gutters(a, b)
    if a.endswith("\\"):
        # The backslash of a shell, C, YAML or Python; behind a space it parts words.
        if len(a) - len(a.rstrip("\\")) == 1 and len(a) > left + 1 and not a[-2].isspace():
            return first[0] + len(a) - 1, second[0] + begin
        return None
    end, stop, width = len(a), len(b), len(a)
    border = _border(a)
    if border is not None and a[border[1]] in a[:left]:
        other = _border(b)
        if other is not None and b[other[1]] == a[border[1]]:
            end, stop = border[0], other[0]
    run = _RUN.match(b, begin, stop)
    if run is None or len(b) > width or end - left < _WIDTH or _TAIL.match(a, max(left, end - 3), end) is None:
        return None
    if a[end - 1] == "=" and 60 <= width <= 80 and end == width and not _padded(a[left:end]):
        # A soft line break of quoted-printable.
        return first[0] + end - 1, second[0] + begin
    if not _carries_on(run[0], b[run.end() : stop], a[left:end], width=width, hanging=hanging, full=len(b) == width):
        return None
    return first[0] + end, second[0] + begin


def _border(line: str) -> tuple[int, int] | None:
    """Return where a line's content ends before the border of a box at its end, and where that border is."""
    inner = line.rstrip(" \t")
    if not inner or inner[-1] not in _BORDERS:
        return None
    return len(inner[:-1].rstrip(" \t")), len(inner) - 1


def _padded(line: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9+/]*={1,2}", line) is not None


def _quotes(a: str, b: str) -> tuple[int, int] | None:
    """Return where a string ends in one line and goes on in the next: `"abc" \\`, `"abc" +`, `+ "def"`."""
    end = _QUOTE_END.search(a.rstrip(" \t"))
    if end is None:
        return None
    gutter = _MARKS.match(a)
    same = gutter[0].rstrip(" \t") if gutter else ""
    start = _QUOTE_START.match(b, len(same) if same and b.startswith(same) else 0)
    if start is None or start[2] != end[1] or not (end[2] or start[1]):
        return None
    return end.start(), start.end()


def _gutters(a: str, b: str) -> tuple[int, int, bool]:
    """Return where the content of two lines begins, and whether the second stands behind an indent that the first has not."""
    one, two = _NUMBER.match(a), _NUMBER.match(b)
    if one is not None and two is not None and int(two[1]) == int(one[1]) + 1:
        return one.end(), two.end(), False
    marks = _MARKS.match(a)
    left = marks.end() if marks is not None else 0
    if left and b.startswith(a[:left]) and not b[left : left + 1].isspace():
        return left, left, False
    indent = _INDENT.match(b)
    return left, indent.end() if indent is not None else 0, indent is not None


def _carries_on(run: str, rest: str, before: str, *, width: int, hanging: bool, full: bool) -> bool:
    """
    Return whether what a line begins with looks like the rest of what the line before broke off.

    Args:
        run: The token characters it begins with; `rest` is what follows them.
        before: The line before.
        width: How wide that is, gutter and all.
        hanging: This line is indented, that one is not.
        full: This line is just as wide.
    """
    # Lines of names and values may be as wide as each other.
    if _NAMED.match(run):
        return False
    if full and not rest and len(run) >= _WIDTH:
        return True
    if not rest:
        if _is_random(run):
            return not hanging or len(run) >= 8
        return not hanging and len(run) <= 3 and width in _COMMON_WIDTHS
    if rest[0] in "\"'`" and before.count(rest[0]) % 2 == 1:
        return True
    return not hanging and rest[0] in " \t,;)]}<&\"'`" and _is_random(run) and (len(run) >= 8 or width in _COMMON_WIDTHS)


def _is_random(run: str) -> bool:
    """Return whether a run of token characters is no word or number: digits and letters, or capitals after small letters."""
    if re.search("[a-z][A-Z]|[A-Z]{2}[a-z]", run):
        return True
    return re.search("[0-9]", run) is not None and re.search("[A-Za-z]", run) is not None


_BREAK = re.compile(r"\\?\r?\n(?:[ \t]{0,64}(?:[│┃║|>+#*-]|//)[ \t]?){0,3}[ \t]{0,64}")
_BEFORE_BREAK = 80


def unbroken(text: str) -> View | None:
    """Return a text without line ends and what stands around them, None where it has none: to find what is known."""
    kept, here = [], 0
    for match in _BREAK.finditer(text):
        line = text[max(here, match.start() - _BEFORE_BREAK) : match.start()]
        inner = line.rstrip(" \t").rstrip("│┃║|").rstrip(" \t")
        kept.append((here, match.start() - len(line) + len(inner)))
        here = match.end()
    return sliced(text, [*kept, (here, len(text))]) if kept else None


_DIGITS = re.compile(r"[0-9]+")
_KNOWN = (
    re.compile(r"[ \t]*[0-9]{1,7}(?:→|\t|[:\-][ \t]?|[ ]*[|│][ ]?|[.)][ ])"),
    re.compile(r"[^\s:]{1,200}[:\-][0-9]{1,7}[:\-]"),
    re.compile(r"(?:[ \t]*(?:[>|│┃║#*;+\-]|//|--)(?!-)[ ]?){1,4}"),
    re.compile(r"[ \t]+"),
)


def gutters(text: str | View, at: int) -> View | None:
    """
    Return the lines from a place on without what each begins with: line numbers, file names, quote marks, diff signs, dates.

    The lines that have the first one's gutter are in the view, with their line ends: up to 512, 64 KB. Without a gutter, None.

    Args:
        text: A text, or a view of one; places in what is returned are then those of its original.
        at: Where in it a secret of several lines begins.
    """
    text, base = (text.text, text) if isinstance(text, View) else (text, None)
    high = min(len(text), at + _BLOCK)
    begin = max(text.rfind("\n", max(0, at - _BLOCK_GUTTER), at) + 1, at - _BLOCK_GUTTER, 0)
    end = text.find("\n", at, high)
    if end < 0:
        return None
    head = text[begin:at]
    for gutter in _candidates(head):
        kept = _block(text, gutter, at, end, high)
        if kept is not None:
            return sliced(text, kept, base)
    return None


def _candidates(head: str) -> list[re.Pattern[str]]:
    """Return how the lines after one may begin that begins so: just so, but for the numbers, or with a known gutter."""
    known = [pattern for pattern in _KNOWN if pattern.match(head)]
    if not head:
        return []
    exact: list[str] = []
    here = 0
    for match in _DIGITS.finditer(head):
        exact.append(_spelled(head[here : match.start()]))
        exact.append("[0-9]+")
        here = match.end()
    exact.append(_spelled(head[here:]))
    return [re.compile("".join(exact)), *known]


def _spelled(part: str) -> str:
    # A number that grows takes from the spaces before it; grep has a colon in lines found, a dash in those around.
    return "".join(
        "[ ]*" if piece[0] == " " else "[:\\-]" if piece in (":", "-") else re.escape(piece)
        for piece in re.findall(r"[ ]+|[:\-]|[^ :\-]+", part)
    )


def _block(text: str, gutter: re.Pattern[str], at: int, end: int, high: int) -> list[tuple[int, int]] | None:
    kept = [(at, end + 1)]
    begin, bare = end + 1, 0
    while len(kept) < _BLOCK_LINES and begin < high:
        end = text.find("\n", begin, high)
        end = high if end < 0 else end + 1
        match = gutter.match(text, begin, end)
        if match is None or match.end() == begin:
            # An empty line may have lost the blanks of its gutter.
            line = text[begin:end].strip()
            if len(line) > 2 or bare:
                break
            bare += 1
            kept.append((end - 1, end) if text[end - 1] == "\n" else (end, end))
        else:
            kept.append((match.end(), end))
        begin = end
    return kept if len(kept) - bare > 1 else None

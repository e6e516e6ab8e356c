"""The colours of a terminal, as classes; everything else that a terminal does with a text is left out."""

from __future__ import annotations

import re

from satchel.formats.html.escape import text_html
from satchel.formats.turns import visible, without_colours

__all__ = ["output_html"]

_COLOUR = re.compile("\x1b\\[([0-9;:]*)m")
_STYLES = {1: "bo", 2: "di", 3: "it", 4: "un", 9: "st"}
_ENDS = {22: ("bo", "di"), 23: ("it",), 24: ("un",), 29: ("st",)}


def output_html(text: str) -> str:
    """Return a tool's output as the content of an element, its colours as spans."""
    if "\x1b[" not in text:
        return text_html(visible(without_colours(text)))
    out: list[str] = []
    state: dict[str, str] = {}
    at = 0
    opened = False
    for found in _COLOUR.finditer(text):
        _add(out, text[at : found.start()])
        at = found.end()
        _change(state, found[1])
        if opened:
            out.append("</span>")
        opened = bool(state)
        if opened:
            out.append(f'<span class="{" ".join(sorted(state.values()))}">')
    _add(out, text[at:])
    if opened:
        out.append("</span>")
    return "".join(out)


def _add(out: list[str], text: str) -> None:
    if text:
        out.append(text_html(visible(without_colours(text))))


def _change(state: dict[str, str], said: str) -> None:
    """Take what a sequence says: codes, of which some take further ones."""
    codes = [int(code) if code and len(code) < 5 else 0 for code in re.split("[;:]", said)] if said else [0]
    while codes:
        code = codes.pop(0)
        if code == 0:
            state.clear()
        elif code in _STYLES:
            state[_STYLES[code]] = _STYLES[code]
        elif code in _ENDS:
            for name in _ENDS[code]:
                state.pop(name, None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            state["f"] = f"f{code - 30 if code < 90 else code - 82}"
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state["b"] = f"b{code - 40 if code < 100 else code - 92}"
        elif code in (39, 49):
            state.pop("f" if code == 39 else "b", None)
        elif code in (38, 48):
            colour = _extended(codes)
            if colour is not None:
                name = "f" if code == 38 else "b"
                state[name] = f"{name}{colour}"


def _extended(codes: list[int]) -> int | None:
    """Return which of the 16 colours of a page comes nearest to a colour of 256, or of all."""
    kind = codes.pop(0) if codes else None
    if kind == 5 and codes:
        number = codes.pop(0)
        if number < 16:
            return number
        if number >= 232:
            return (0, 8, 7, 15)[min(3, (number - 232) // 6)]
        number -= 16
        return _nearest(number // 36 * 51, number // 6 % 6 * 51, number % 6 * 51)
    if kind == 2 and len(codes) >= 3:
        return _nearest(codes.pop(0), codes.pop(0), codes.pop(0))
    return None


def _nearest(red: int, green: int, blue: int) -> int:
    most = max(red, green, blue)
    if most < 48:
        return 0
    half = most // 2
    colour = (red > half) + 2 * (green > half) + 4 * (blue > half)
    return colour + 8 if most > 200 else colour

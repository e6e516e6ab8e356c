"""Numbers, sizes and paragraphs as people read them on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from satchel.naming import display_width

__all__ = ["argument", "count", "size", "wrapped"]


def count(number: int, what: str) -> str:
    """Return a number of things: "1 session", "1,204 sessions"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size(octets: float) -> str:
    """Return a number of bytes as people read it: "512 bytes", "12.4 MB" (of 1024 times 1024 bytes)."""
    if octets < 1024:
        return count(int(octets), "byte")
    for unit in ("KB", "MB", "GB"):
        octets /= 1024
        if octets < 1024:
            return f"{octets:.1f} {unit}"
    return f"{octets / 1024:.1f} TB"


def argument(path: str) -> str:
    """Return a path as it stands in a command that is suggested: quoted for a shell, and not to be taken for an option."""
    import shlex

    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def wrapped(text: str, width: int | None) -> Iterator[str]:
    """
    Yield the text line by line, lines that are wider than `width` columns broken at blanks, or anywhere where there are none.

    Line breaks and leading blanks stay as they are, tabs become blanks; without a width no line is broken.
    """
    for line in text.split("\n"):
        line = line.rstrip().expandtabs(4)
        if width is None:
            yield line
            continue
        start = 0
        while True:
            # A window, so that a line of a million characters takes no longer than a million short ones.
            window = line[start : start + 4 * width + 64]
            end = _fitting(window, width)
            if start + end >= len(line):
                break
            at = window.rfind(" ", 0, end + 1)
            # A blank inside the leading ones is no place to break.
            end = at if window[:at].strip() and at > 0 else end
            yield window[:end].rstrip()
            start += end
            while start < len(line) - 1 and line[start] == " ":
                start += 1
        yield line[start:]


def _fitting(text: str, width: int) -> int:
    """Return how many characters from the beginning fit into so many columns, at least one."""
    if text.isascii():
        return max(1, min(width, len(text)))
    taken = 0
    for at, char in enumerate(text):
        taken += display_width(char)
        if taken > width:
            return max(1, at)
    return max(1, len(text))

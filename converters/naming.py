"""
Names made from what a session says of itself, which may be hostile: file names, clean titles, text for a terminal.

A file name depends on its session alone, never on the others: the same id has the same name for ever, and two ids never share
one, on a file system that folds case or Unicode forms neither.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean_title", "display_width", "file_name", "safe_id", "slug", "terminal_line", "terminal_text"]

# Patterns are compiled when they are first used: a short run needs none of them.
_ORDINARY = r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9_-])?"
_UNSAFE = r"[^A-Za-z0-9._-]+"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=-)"
# Windows takes these for devices, whatever follows the first dot.
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))])
# `manifest.jsonl` and its like stand beside the sessions' files.
_OURS = frozenset(["manifest", "satchel-manifest", "sha256sums"])

# Letters and marks that show nothing (fillers, variation selectors): two slugs would look the same.
_BLANK = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]+"
_NO_SLUG = r"[^a-z0-9._-]+"

_SURROGATE = "[\ud800-\udfff]"
_NO_TITLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]+"
_SPACE = r"\s+"

_NO_TERMINAL = "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]"
_GAP = "[ \t\n\v\f\r\x85\u2028\u2029]+"


def safe_id(session_id: str) -> str:
    """
    Return a file-name stem for a session id: no separator, no reserved name, ASCII, at most 120 bytes.

    An ordinary id stays itself: lower-case ASCII letters, digits, `.`, `_` and `-`, first a letter or digit, last no dot, at most
    100 of them, and not a name that Windows or a manifest has taken. Any other id, so one with a capital or a non-ASCII letter
    too, has what is unsafe in it replaced by `_` and ends with `~` and the first 8 hex digits of the SHA-256 of the exact id.
    """
    if re.fullmatch(_ORDINARY, session_id) and not _is_taken(session_id):
        return session_id
    return _marked(session_id)


def _marked(session_id: str) -> str:
    from hashlib import sha256

    stem = re.sub(_UNSAFE, "_", session_id[:400]).lstrip("._-")[:100].rstrip("._-") or "id"
    if _is_taken(stem):
        stem = f"_{stem}"
    return f"{stem}~{sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _is_taken(name: str) -> bool:
    head = name.partition(".")[0].lower()
    return head in _DEVICES or head in _OURS


def slug(title: str | None) -> str:
    """
    Return a title as the readable part of a file name: lower case, letters and digits of every script, `.`, `_` and `-`.

    Runs of anything else become one `-`; at most 60 characters and 80 bytes of UTF-8; "session" when nothing is left.
    """
    text = unicodedata.normalize("NFC", (title or "")[:1000]).lower()
    text = re.sub(_NO_SLUG, "-", text) if text.isascii() else _letters(unicodedata.normalize("NFC", re.sub(_BLANK, "", text)))
    text = _cut(text.lstrip(".-_"), 80) or "session"
    if text.partition(".")[0] in _DEVICES:
        text = _cut(f"session-{text}", 80)
    return text


def _letters(text: str) -> str:
    out: list[str] = []
    attached = False
    for char in text:
        kind = unicodedata.category(char)
        if kind[0] == "L" or kind in ("Nd", "Nl") or (attached and kind[0] == "M"):
            out.append(char)
            attached = True
        else:
            attached = False
            if char in "._-":
                out.append(char)
            elif not out or out[-1] != "\0":
                out.append("\0")
    return "".join(out).replace("\0", "-")


def _cut(text: str, octets: int) -> str:
    return text[:60].encode()[: max(octets, 0)].decode("utf-8", "ignore").rstrip(".-_")


def file_name(session_id: str, title: str | None, suffix: str) -> str:
    """
    Return `<safe id>-<slug><suffix>`, at most 200 bytes; two ids never give the same name, whatever their titles.

    An ordinary id that holds a `-` and is no UUID carries the hash of `safe_id` too, since its end could not be told from the
    title: "chat" with the title "2 plans" and "chat-2" with the title "plans" would meet in one name.
    """
    words = slug(title)
    stem = safe_id(session_id)
    if "~" not in stem:
        name = f"{stem}-{words}"
        uuid = re.match(_UUID, name)
        if stem != (uuid.group() if uuid else name.partition("-")[0]):
            stem = _marked(session_id)
    words = _cut(words, 199 - len(stem) - len(suffix.encode()))
    return f"{stem}-{words}{suffix}" if words else f"{stem}{suffix}"


def clean_title(text: str | None) -> str | None:
    """
    Return a title as a store keeps it, or None when nothing is left.

    Control, zero-width, bidi and annotation characters go, lone surrogates become U+FFFD, white space collapses to single spaces
    and is trimmed. The length is the caller's matter: a store of Hermes takes 100 characters.
    """
    if not text:
        return None
    cleaned = re.sub(_NO_TITLE, "", re.sub(_SURROGATE, "\ufffd", text))
    return re.sub(_SPACE, " ", cleaned).strip() or None


def terminal_text(text: str) -> str:
    r"""
    Return the text so that it cannot move, colour or reorder anything on a terminal.

    Control characters but `\n` and `\t`, bidi overrides and isolates, line separators and lone surrogates are shown as escapes
    (`\x1b`, `\u202e`); `\r\n` becomes `\n`.
    """
    return text if text.isprintable() else re.sub(_NO_TERMINAL, _escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    if found == "\r\n":
        return "\n"
    code = ord(found)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def terminal_line(text: str, width: int | None = None) -> str:
    """
    Return the text as one safe, trimmed line: line breaks and tabs become a space, the rest is as in `terminal_text`.

    With a width it is cut to so many columns, and ends in `…` where something went.
    """
    if width is None:
        return terminal_text(_without_gaps(text))
    # A column holds few characters: a long text need not be gone through for one line of it.
    limit = 16 * max(width, 0) + 256
    line = terminal_text(_without_gaps(text[:limit]))
    if len(text) <= limit and display_width(line) <= width:
        return line
    if width < 1:
        return ""
    columns = 0
    for index, char in enumerate(line):
        columns += _columns(char)
        if columns > width - 1:
            return f"{line[:index].rstrip()}…"
    return f"{line}…"


def _without_gaps(text: str) -> str:
    return (text if text.isprintable() else re.sub(_GAP, _space, text)).strip()


def _space(match: re.Match[str]) -> str:
    return " " if match.group().strip(" ") else match.group()


def display_width(text: str) -> int:
    """Return how many columns a terminal gives the text: two for wide East Asian characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1

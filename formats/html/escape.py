"""The one place where text becomes HTML."""

from __future__ import annotations

import re
from html import escape as _escape

from satchel.formats.turns import line, visible, without_colours

__all__ = ["REL", "address", "attribute", "linked", "one_line", "plain", "safe_link", "text_html"]

_WEB = re.compile(r"https?://[^\s<>\"']{1,2000}")
_ENDS = ".,;:!?)]}"
_LINK = re.compile(r"(?:https?://|mailto:|#)[^\s]*\Z", re.IGNORECASE)
REL = 'rel="noopener noreferrer nofollow"'


def plain(text: str) -> str:
    """Return a text without colours, and with what can't be seen made visible."""
    return visible(without_colours(text))


def text_html(text: str) -> str:
    """Return a text, which is `plain`, as the content of an element."""
    return _escape(text, quote=False)


def attribute(text: str) -> str:
    """Return a text as the value of an attribute in double quotes, one line of it."""
    return _escape(line(text, 400))


def address(text: str) -> str:
    """Return a link's target, all of it, as the value of an attribute in double quotes."""
    return _escape(text)


def one_line(text: str, most: int = 200) -> str:
    """Return a text as the content of an element, one line of at most so many columns."""
    return _escape(line(text, most), quote=False)


def safe_link(target: str) -> bool:
    """Return whether a link's target is one that may stand in a page: the web, a mail address, a place in the page."""
    return _LINK.match(target) is not None


def linked(text: str) -> str:
    """Return a text, which is `plain`, as the content of an element in which addresses of the web are links."""
    if "://" not in text:
        return _escape(text, quote=False)
    out: list[str] = []
    at = 0
    for found in _WEB.finditer(text):
        found_at = found[0].rstrip(_ENDS)
        out.append(_escape(text[at : found.start()], quote=False))
        out.append(f'<a href="{_escape(found_at)}" {REL}>{_escape(found_at, quote=False)}</a>')
        at = found.start() + len(found_at)
    out.append(_escape(text[at:], quote=False))
    return "".join(out)

"""
Text that people and models wrote as Markdown, as HTML; markdown-it-py is set up for text that nobody trusts.

No raw HTML, no picture from elsewhere, no link to anything but the web, no identifiers made from text. What is long, or nested so
deeply that it can't be read, is shown as the text it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from satchel.formats.html.escape import REL, attribute, linked, one_line, safe_link, text_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["markdown_html"]

_MOST = 1 << 16
# Without one of these a text is paragraphs and nothing else.
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&!]|^[ \t]*(?:[-+=]|\d{1,9}[.)])|^(?: {4}|\t)", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
_LARGEST = 4 << 20


def markdown_html(text: str) -> str:
    """Return a text, which is `plain`, as HTML."""
    text = text.strip("\n")
    if not text:
        return ""
    if _MARKUP.search(text) is None:
        parts = _BLANK.split(text) if "\n" in text else [text]
        return "".join(f"<p>{linked(part.strip()).replace(chr(10), '<br>')}</p>\n" for part in parts if part.strip())
    if len(text) > _MOST:
        return f"<pre>{text_html(text)}</pre>\n"
    try:
        return str(_parser().render(text, {}))
    except RecursionError:
        return f"<pre>{text_html(text)}</pre>\n"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False, "breaks": True, "xhtmlOut": False})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: safe_link(url) or _is_picture(url)  # type: ignore[method-assign]
    for name, rule in (
        ("heading_open", _heading_open),
        ("heading_close", _heading_close),
        ("image", _image),
        ("fence", _fence),
        ("code_block", _code_block),
        ("link_open", _link_open),
        ("link_close", _link_close),
        ("text", _text),
    ):
        parser.add_render_rule(name, rule)
    return parser


def _is_picture(url: str) -> bool:
    return len(url) < _LARGEST and _DATA.match(url) is not None


def _heading_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f'<h{_level(tokens[at])} dir="auto">'


def _heading_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"</h{_level(tokens[at])}>\n"


def _level(token: Token) -> int:
    """Return a heading's level in the page, whose own headings are above."""
    return min(6, int(token.tag[1]) + 3)


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    source = str(tokens[at].attrs.get("src", ""))
    if _is_picture(source):
        return f'<img class="picture" alt="{attribute(tokens[at].content)}" src="{source}">'
    # Whoever has the picture would be told that it is looked at.
    return f'<span class="chip">[image: {one_line(tokens[at].content)}] {one_line(source, 300)}</span>'


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    language = _LANGUAGE.match(tokens[at].info.strip())
    label = f' data-language="{attribute(language[0])}"' if language else ""
    return f"<pre{label}><code>{text_html(tokens[at].content)}</code></pre>\n"


def _code_block(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"<pre><code>{text_html(tokens[at].content)}</code></pre>\n"


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    env["links"] = env.get("links", 0) + 1
    target = str(tokens[at].attrs.get("href", ""))
    if not safe_link(target):
        return "<a>"
    title = tokens[at].attrs.get("title")
    return f'<a href="{attribute_whole(target)}" {REL}' + (f' title="{attribute(str(title))}"' if title else "") + ">"


def _link_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    env["links"] = env.get("links", 1) - 1
    return "</a>"


def attribute_whole(text: str) -> str:
    """Return a text without line breaks as the value of an attribute in double quotes, all of it."""
    return text_html(text).replace('"', "&quot;")


def _text(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    said = tokens[at].content
    return text_html(said) if env.get("links") else linked(said)

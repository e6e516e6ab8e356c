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

from satchel.formats.html.escape import REL, address, attribute, linked, one_line, safe_link, text_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["markdown_html"]

_MOST = 1 << 16
_LANGUAGE = re.compile(r"[A-Za-z0-9+#._-]{1,30}")
_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
_LARGEST = 4 << 20

# What makes a text more than words, addresses, code and bold print: the parser reads such ones.
_MARKUP = re.compile(
    r"\\[!-/:-@\[-`{-~\n]|(?<!\w)_|_(?!\w)|!\[|\]\(|\]\[|~~|<[A-Za-z/!?]|&(?:#|[A-Za-z])|\|[ \t]*:?-|-[ \t]*\||^[ \t]*$",
    re.MULTILINE,
)
# What makes a line more than one of a paragraph.
_MARKED = re.compile(r"^[ \t]*(?:[-+=>#|:~]|\*(?!\*\w)|\d{1,9}[.)])|^(?: {4}|[ ]{0,3}\t)", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^\W_](?:[^*_`\[\]<\\&\n]*[^\W_])?)\*\*")
_HEADING = re.compile(r"(#{1,6}) ([^\W_](?:[^#\n]*[^#\s])?)")
_BULLET = re.compile(r"[-*+] (?=[^\W_]|[\"'(]|`|\*\*\w)(?!\d{1,9}[.)](?:[ \t]|$))[^\n]*[^\s\n]")
_NUMBERED = re.compile(r"\d{1,9}[.)] (?=[^\W_]|[\"'(]|`|\*\*\w)(?!\d{1,9}[.)](?:[ \t]|$))[^\n]*[^\s\n]")
# Code on one line, between single backticks; with others in it a paragraph is the parser's.
_CODE = re.compile(r"`([^`\n]+)`")
_SIMPLE_CODE = re.compile(r"(?:[^`]|(?<!`)`[^`\s](?:[^`\n]*[^`\s])?`(?!`))*+")
_BREAK = "<br>\n"
_BLANKS = " \t"
_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_FENCE = re.compile(r"```(?!`)([^`]*)")


def markdown_html(text: str) -> str:
    """Return a text, which is `plain`, as HTML."""
    text = text.strip("\n")
    if not text:
        return ""
    if len(text) > _MOST:
        return f"<pre>{text_html(text)}</pre>\n"
    try:
        # A definition may be for what stands anywhere in the text.
        blocks = None if "]:" in text or "~~~" in text else _blocks(text)
        return str(_parser().render(text, {})) if blocks is None else "".join(map(_block, blocks))
    except RecursionError:
        return f"<pre>{text_html(text)}</pre>\n"


def _blocks(text: str) -> list[tuple[str, str | None]] | None:
    """
    Return the parts of a text that can be read one by one, and for a fenced block its language, which is None otherwise.

    None for a text in which it is not told at a glance where fences begin and end.
    """
    blocks: list[tuple[str, str | None]] = []
    lines = text.split("\n")
    block: list[str] = []
    at, count = 0, len(lines)
    while at < count:
        current = lines[at]
        at += 1
        if "```" in current:
            fence = _FENCE.fullmatch(current)
            if fence is None:
                return None
            if block:
                blocks.append(("\n".join(block), None))
                block = []
            begin = at
            while at < count and not _closes(lines[at]):
                at += 1
            if at == count:
                return None
            language = _LANGUAGE.match(fence[1].strip())
            blocks.append(("".join(f"{line}\n" for line in lines[begin:at]), language[0] if language else ""))
            at += 1
        elif current.strip(" \t"):
            block.append(current)
        elif block:
            following = at
            while following < count and not lines[following].strip(" \t"):
                following += 1
            after = lines[following] if following < count else ""
            # What is indented belongs to what stands above, and so may an item of a list.
            if after[:1] in (" ", "\t") or (_ITEM.match(after) and any(map(_ITEM.match, block))):
                block += lines[at - 1 : following]
            else:
                blocks.append(("\n".join(block), None))
                block = []
            at = following
    if block:
        blocks.append(("\n".join(block), None))
    return blocks


def _closes(line: str) -> bool:
    """Return whether a line closes a fence of three backticks."""
    bare = line.strip(" \t")
    return bare.startswith("```") and not bare.strip("`") and not line.startswith(("    ", "\t", " \t", "  \t", "   \t"))


def _block(part: tuple[str, str | None]) -> str:
    text, language = part
    if language is not None:
        return _code(text, language)
    if (
        _MARKUP.search(text) is not None
        or ("`" in text and not _SIMPLE_CODE.fullmatch(text))
        or ("*" in text and "*" in _CODE.sub("", _BOLD.sub("", text))[2 * text.startswith("* ") :].replace("\n* ", "\n"))
    ):
        return str(_parser().render(text, {}))
    lines = text.split("\n")
    if _MARKED.search(text) is None:
        return f"<p>{_BREAK.join([_inline(line.strip(_BLANKS)) for line in lines])}</p>\n"
    if len(lines) == 1 and (heading := _HEADING.fullmatch(text)):
        level = min(6, len(heading[1]) + 3)
        return f'<h{level} dir="auto">{_inline(heading[2])}</h{level}>\n'
    for item, kind in ((_BULLET, "ul"), (_NUMBERED, "ol")):
        if all(map(item.fullmatch, lines)) and _are_one_list(lines):
            number = lines[0].partition(" ")[0][:-1]
            start = f' start="{int(number)}"' if kind == "ol" and int(number) != 1 else ""
            items = "".join(f"<li>{_inline(line.partition(' ')[2])}</li>\n" for line in lines)
            return f"<{kind}{start}>\n{items}</{kind}>\n"
    return str(_parser().render(text, {}))


def _are_one_list(lines: list[str]) -> bool:
    """Return whether items have one mark; another one begins another list."""
    return len({line.partition(" ")[0][-1] for line in lines}) == 1


def _inline(line: str) -> str:
    """Return words, addresses, code and bold print."""
    if "`" not in line and "*" not in line:
        return linked(line)
    shown: list[str] = []
    for at, piece in enumerate(_CODE.split(line)):
        if at % 2:
            shown.append(f"<code>{text_html(piece)}</code>")
        elif "*" in piece:
            bold = _BOLD.split(piece)
            shown += [f"<strong>{linked(word)}</strong>" if n % 2 else linked(word) for n, word in enumerate(bold)]
        else:
            shown.append(linked(piece))
    return "".join(shown)


def _code(text: str, language: str) -> str:
    label = f' data-language="{attribute(language)}"' if language else ""
    return f"<pre{label}><code>{text_html(text)}</code></pre>\n"


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
    return _code(tokens[at].content, language[0] if language else "")


def _code_block(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return _code(tokens[at].content, "")


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    env["links"] = env.get("links", 0) + 1
    target = str(tokens[at].attrs.get("href", ""))
    if not safe_link(target):
        return "<a>"
    title = tokens[at].attrs.get("title")
    return f'<a href="{address(target)}" {REL}' + (f' title="{attribute(str(title))}"' if title else "") + ">"


def _link_close(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    env["links"] = env.get("links", 1) - 1
    return "</a>"


def _text(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    said = tokens[at].content
    return text_html(said) if env.get("links") else linked(said)

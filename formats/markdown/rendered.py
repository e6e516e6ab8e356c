r"""
Text that people and models wrote as Markdown, kept as such, and kept in its place.

Whoever renders the document shows lists, tables, emphasis, code and links. What could reach beyond the text is made literal with
backslashes: raw HTML, images, links to anything but the web, attributes, mathematics, citations, definitions, and what makes a
heading of the line above. Headings go down three levels. Code blocks of any spelling become fences of one kind, which no line
inside can close. It does not matter whether a renderer agrees about where code begins: what is not fenced is neutral without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from satchel.formats.markdown.literal import LANGUAGES

__all__ = ["rendered"]

_DEMOTED = 3
_LONG = 4000
"""In longer lines no code spans are looked for."""

# A line that is more than what stands in it, or may be: a heading, a rule, a fence, a definition, an indented block.
_SPECIAL = re.compile(
    r"^(?: {4}| {0,3}\t|[ \t>]*+[-=+*][ \t]*$|[ \t>]*+(?:(?:[-+*]|\(?(?:[A-Za-z]{1,7}|[0-9#]{1,9}|@\w*)[.)])[ \t]++>?)*+[ \t>]*+"
    r"(?:#|[-=_*.~+][ \t]*(?:[-=_*.~+:]|$)|:[: \t]|~[ \t]|`{3}|@|[Tt]able:))|\(@",
    re.MULTILINE,
)

# What stands before the content of a line: quotes, list markers of CommonMark, and of pandoc.
_PREFIX = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\(?(?:\d{1,9}|[A-Za-z]{1,7}|#|@\w*)[.)](?=[ \t])))*[ \t]*")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*(.*)")
_RULE = re.compile(r"(?:[-=_*.~+][ \t]*){2,}|[-=+*][ \t]*")
_GRID = re.compile(r"\+[-=:+]")
_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\(?\w{1,9}[.)])(?:[ \t]|$)")
_QUOTE = re.compile(r" {0,3}> ?")

_TOKEN = re.compile(
    r"\\(?:[!-/:-@\[-`{-~]|)"
    r"|`+"
    r"|<(?=[A-Za-z/!?])"
    r"|[{$@]"
    r"|https?://[^\s<>|\"'`]*[^\s<>|\"'`.,;:!?)\]*_~]"
    r"|[!^](?=\[)|\[(?=[\[^])|\]:|\]\("
)
_ALLOWED = re.compile(r"\]\([ \t]*(?:https?://|mailto:|#)[^\s<>()\"']*", re.IGNORECASE)
_DANGEROUS = re.compile(r"(?<!^)[$@{}\\`\[\]!^|]")
_AUTOLINK = re.compile(r"<https?://[^\s<>|\"'`\\]+>")
_HARMLESS = re.compile(r"[\w.~:/?#&=%+,;()-]*")
_RUN = re.compile("`+")
_LIVE = re.compile(r"[<{$@\[\]\\!]")


def rendered(text: str, fence: Callable[..., list[str]], *, breaks: bool = False) -> str:
    """
    Return a text, which is `plain`, as Markdown that stays in its place, without a line break at its end.

    Args:
        fence: Makes a fenced block of a code block's text and language.
        breaks: Each line break is one, as for people who do not write Markdown.
    """
    text = text.strip("\n")
    if _SPECIAL.search(text) is None:
        # No line is more than what stands in it, as in most texts.
        text = _inline(text)
        return _broken(text) if breaks else text
    out: list[str] = []
    prose: list[str] = []
    in_list = False
    lines = text.split("\n")
    at = 0

    def close() -> None:
        nonlocal in_list
        if prose:
            in_list = _is_item(prose) or (in_list and prose[0][:1] in (" ", "\t"))
            part = _prose(prose)
            out.append(_broken(part) if breaks else part)
            prose.clear()

    while at < len(lines):
        current = lines[at]
        found = _opening(current)
        if found is not None:
            prefix, ticks, language = found
            close()
            if prefix.strip(" \t>"):
                # By itself: under a text it would make a heading of it.
                out += ["", prefix.rstrip()]
            at, code = _fenced(lines, at + 1, ticks, quoted=prefix.count(">"), indent=len(prefix.expandtabs(4)))
            out.append("".join(["\n", *fence("\n".join(code), language)]))
        elif not current.strip():
            close()
            out.append("")
            at += 1
        elif not prose and not in_list and _is_indented(current):
            begin = at
            while at < len(lines) and (_is_indented(lines[at]) or not lines[at].strip()):
                at += 1
            code = [_dedented(each) for each in lines[begin:at]]
            while not code[-1].strip():
                code.pop()
                at -= 1
            out.append("".join(["\n", *fence("\n".join(code))]))
        else:
            prose.append(current)
            at += 1
    close()
    return "\n".join(out).strip("\n")


def _broken(text: str) -> str:
    """Return a text whose line breaks are kept by two blanks at the end of each line."""
    return re.sub(r"(?<=\S)\n(?=[^\n])", "  \n", text) if "\n" in text else text


# ---------------------------------------------------------------------------------------------------------- code blocks


def _opening(current: str) -> tuple[str, str, str] | None:
    """Return the prefix, the run and the language of a line that opens a fence; None of any other."""
    if "```" not in current and "~~~" not in current:
        return None
    prefix = _prefix(current)
    found = _FENCE.match(current, len(prefix))
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return None
    word = re.match(r"[\w+#.-]*", found[2])
    language = word[0].lower() if word else ""
    return prefix, found[1], language if language in LANGUAGES else "text"


def _prefix(current: str) -> str:
    found = _PREFIX.match(current[:400])
    return found[0] if found else ""


def _fenced(lines: list[str], at: int, ticks: str, *, quoted: int, indent: int) -> tuple[int, list[str]]:
    """Return the lines of a fenced block, and where it has ended."""
    code: list[str] = []
    closing = re.compile(rf"[ \t]*{re.escape(ticks[0])}{{{len(ticks)},}}[ \t]*")
    while at < len(lines):
        current = lines[at]
        for _ in range(quoted):
            stripped = _QUOTE.match(current)
            if stripped is None:
                return at, code
            current = current[stripped.end() :]
        at += 1
        if closing.fullmatch(current):
            break
        blank = len(current) - len(current.lstrip(" "))
        code.append(current[min(blank, indent) :] if not quoted else current)
    return at, code


def _is_indented(current: str) -> bool:
    return current.startswith(("    ", "\t", " \t", "  \t", "   \t"))


def _dedented(current: str) -> str:
    found = re.match(r" {0,3}\t| {4}", current)
    return current[found.end() :] if found else current.lstrip(" ")


def _is_item(prose: list[str]) -> bool:
    """Return whether lines are items of a list."""
    return any(_ITEM.match(each) for each in prose)


# ---------------------------------------------------------------------------------------------------------- prose


def _prose(lines: list[str]) -> str:
    """Return lines without code blocks, neutral but for the markup that stays inside a paragraph, a list, a table."""
    done: list[str] = []
    blank = True
    for current in lines:
        prefix = _prefix(current)
        rest = current[len(prefix) :]
        first = rest[:1]
        before = ""
        if first == "#":
            hashes = len(rest) - len(rest.lstrip("#"))
            if hashes <= 6 and rest[hashes : hashes + 1] in ("", " ", "\t") and not re.search(r"[A-Za-z]|[^.)\d]\)|\(", prefix):
                before, rest = "#" * min(hashes + _DEMOTED, 6), rest[hashes:]
            else:
                before, rest = "\\#", rest[1:]
        elif first and first in "-=_*.~+" and _RULE.fullmatch(rest):
            if blank and first in "-_*" and not prefix.strip():
                before, rest = "* * *", ""
            else:
                before, rest = f"\\{first}", rest[1:]
        elif first == "+" and _GRID.match(rest):
            before, rest = "\\+", rest[1:]
        elif (first == ":" and (rest[1:2] in (" ", "\t") or rest.startswith("::"))) or (
            first == "~" and rest[1:2] in (" ", "\t")
        ):
            before, rest = f"\\{first}", rest[1:]
        elif rest.startswith(("Table:", "table:")):
            # A caption, after which pandoc looks for a table even where a fence stands.
            before, rest = f"{rest[:5]}\\:", rest[6:]
        elif rest.startswith(("```", "~~~")):
            run = len(rest) - len(rest.lstrip(first))
            before, rest = f"\\{first}" * run, rest[run:]
        if not rest and prefix.strip() in ("-", "=", "+", "*"):
            # Alone in its line, it would make a heading of the line above.
            prefix = "\\" + prefix.strip()
        if "@" in prefix:
            prefix = prefix.replace("@", "\\@")
        done.append(prefix + before + _inline(rest))
        blank = not current.strip()
    return "\n".join(done)


def _inline(text: str) -> str:
    """Return the content of lines with everything literal that could be more than emphasis, code and links to the web."""
    found = _TOKEN.search(text)
    if found is None:
        return text
    out: list[str] = []
    at = 0
    while found is not None:
        begin, end = found.span()
        if begin > at:
            out.append(text[at:begin])
        token = found[0]
        first = token[0]
        if first == "\\":
            # One at the end of a line breaks it, and does no more.
            out.append(token if len(token) == 2 or end == len(text) or text[end] == "\n" else "\\\\")
        elif first == "`":
            close = _span(text, begin, end)
            out.append(text[begin:close] if close else "\\`" * (end - begin))
            end = close or end
        elif token == "](":
            link = _ALLOWED.match(text, begin)
            out.append(_DANGEROUS.sub(_percent, link[0]) if link else "\\](")
            end = link.end() if link else end
        elif token == "]:":
            out.append("]\\:")
        elif first == "<":
            # A reference, since a backslash before it would be the end of an address that stands before it.
            link = _AUTOLINK.match(text, begin)
            out.append(link[0] if link else "&lt;")
            end = link.end() if link else end
        elif first == "h":
            out.append(_address(text, begin, end))
        else:
            out.append(f"\\{token}")
        at = end
        found = _TOKEN.search(text, at)
    out.append(text[at:])
    return "".join(out)


def _address(text: str, begin: int, end: int) -> str:
    """Return an address of the web, so that nothing in it is more than a part of it."""
    said = text[begin:end]
    if _HARMLESS.fullmatch(said):
        return said
    return _DANGEROUS.sub(r"\\\g<0>", said) if text[end : end + 1] in ("]", ")") or "\\" in said else f"<{said}>"


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _span(text: str, begin: int, end: int) -> int:
    """Return where the code span that begins here ends, in the same line; 0 where it is none, or may be none to others."""
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    if last - end > _LONG:
        return 0
    ticks = end - begin
    for close in _RUN.finditer(text, end, last):
        if close.end() - close.start() == ticks:
            inside = text[end : close.start()]
            # In a table a bar ends the cell, and with it the code.
            return 0 if "|" in inside and _LIVE.search(inside) else close.end()
    return 0

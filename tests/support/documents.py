"""Documents for tests: made through the whole pipeline, and texts that try to break them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_cases import write
from hermes_parts import Case, Row
from markdown_it import MarkdownIt

from satchel import pipeline
from satchel.events import Event, ignore
from satchel.selection import Selection
from satchel.sources import find

__all__ = ["HOSTILE", "documents", "faults", "hostile_texts", "one_session"]

HOSTILE = [
    "# h", "## 9 · User · forged", "text", "**b**", "`code`", "``", "`", "```", "```python", "````", "~~~", "~~~~ {.x}",
    "```{r}", "    ind", "\tind", "- a", "* b", "1. c", "a. d", "(1) e", "A)  # hh", "> q", ">> ", "| a | b |", "|---|---|",
    "--- ---", "---", "***", "===", "...", "<script>alert(1)</script>", "<div onclick=x>", "</div>", "</details>", "<!--",
    "-->", "<![CDATA[", "<?php", "[x](javascript:alert(1))", "[x](https://ok.example/a_b)", "![i](http://t.example/x.png)",
    "[r]: javascript:x", "[^1]: note", "[^1]", "^[inline]", "[[wiki]]", "$x$", "$$", "\\(x\\)", "\\begin{x}", "\\input{y}",
    "@cite", "[@a; -@b]", "{.c onclick=x}", "{=html}", "`<b>`{=html}", "# h {onclick=x}", ":::", "::: {.x}", ": def",
    "~ def", "%", "+---+", "| x", "+===+", "engine: jupyter", "<http://a.example>", "<javascript:x>", "\\", "\\`", "\\<b>",
    "a\\", "&lt;b&gt;", "  ", "", "", "", "word", "{{< include x >}}", "<meta http-equiv=refresh content=0>", "(@) ex",
    "(@foo) ex", "Table: cap", "table: x", "term", "+ x", "[a\nb]: c", "`a", "b`", "`x|<b>`", "1) x", "#. y", "i. z",
    "```\n<b>", "<b\n>", "[x](<javascript:y>)", "[x](\njavascript:y)", "* * *", "- - -", "-", "=", "[x]{.y}", "\\@x", "\\$",
    "http://a.example/$x$", "a@b.c", "~~s~~", "H~2~O", "^s^", "<br/>", "<details><summary>", "\u2028", "\u000b", "- ```", "> ```",
    "1. ```", "   ```", "<!-- msg n=1 bytes=3 sha256=00 -->", "::::: {.message}",
]  # fmt: skip
"""Lines that mean something to some reader of Markdown, HTML, TeX or Quarto."""

_BEFORE = ["> ", "- ", "  ", "    ", "1. ", "a. ", "| ", "\t", ">", "(i) ", "+ "]


def hostile_texts(seed: int, count: int) -> Iterator[str]:
    """Yield texts of hostile lines, the same ones for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        lines: list[str] = []
        for _ in range(chance.randint(1, 14)):
            way = chance.random()
            if way < 0.6:
                lines.append(chance.choice(HOSTILE))
            elif way < 0.8:
                lines.append(chance.choice(_BEFORE) + chance.choice(HOSTILE))
            else:
                lines.append(chance.choice(HOSTILE) + chance.choice([" ", ""]) + chance.choice(HOSTILE))
        yield "\n".join(lines)


def one_session(folder: Path, turns: list[Row], **columns: Any) -> Path:
    """Return a store with one session, `s`, of these rows."""
    case = Case()
    case.add("s", 1e9, turns, **columns)
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / "state.db", case, schema=23)


def documents(store: Path, out: Path, format: str = "md", *, lineage: Any = "single", **options: Any) -> dict[str, str]:
    """Export a store into a folder, and return its documents by name."""
    told: list[Event] = []
    pipeline.export(
        find((str(store),), profile=None, listen=ignore),
        f"{out}/",
        format=format,
        selection=Selection(),
        lineage=lineage,
        options=options,
        listen=told.append,
    )
    return {path.name: path.read_text("utf-8") for path in sorted(out.glob(f"*.{format}")) if path.name != "index.qmd"}


_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_OURS = re.compile(r"<!-- (?:head|msg) [^<>]* -->\n|<details><summary>[^<>]*</summary>\n|</details>\n")
_WEB = re.compile(r"https?://|mailto:|#|[\w%.~-]+\.q?md$|assets/[0-9a-f]{32}\.\w+$", re.IGNORECASE)


def faults(text: str, messages: int) -> list[str]:
    """Return what a reader of CommonMark finds in a document that a message must not bring there."""
    found: list[str] = []
    tokens = _MARKDOWN.parse(text.partition("\n---\n")[2] if text.startswith("---\n") else text)
    turns = 0
    for at, token in enumerate(tokens):
        if token.type == "html_block" and not _OURS.fullmatch(token.content):
            found.append(f"html: {token.content[:80]}")
        elif token.type == "heading_open":
            is_turn = token.level == 0 and token.tag < "h4" and re.match(r"\d+ · ", tokens[at + 1].content) is not None
            turns += is_turn
            if token.tag < "h4" and not is_turn and token.tag != "h1":
                found.append(f"heading: {tokens[at + 1].content[:80]}")
        for inner in token.children or ():
            if inner.type == "html_inline":
                found.append(f"html: {inner.content[:80]}")
            elif inner.type in ("link_open", "image"):
                target = str(inner.attrs.get("href", inner.attrs.get("src", "")))
                if not _WEB.match(target) or (inner.type == "image" and not target.startswith("assets/")):
                    found.append(f"{inner.type}: {target[:80]}")
    if turns != messages:
        found.append(f"{turns} turns, and {messages} messages")
    return found

"""
Texts that stand in a Markdown document as they are: in fences, in headings, in the summaries of foldable parts.

Nothing here is read as Markdown, HTML or Quarto by whoever renders the document, whatever the text says.
"""

from __future__ import annotations

import re
from functools import lru_cache

from satchel.formats.turns import line, visible, without_colours

__all__ = ["LANGUAGES", "coded", "escaped", "fence", "plain", "quarto_fence", "summary", "title_word"]

_WORDS = """
bash c cmake console cpp cs csharp css csv cuda d dart diff dockerfile elixir elm erlang fish fortran fsharp go
graphql groovy haskell html ini java javascript js json json5 jsonc jsonl jsx julia kotlin latex lean less lisp lua
make makefile markdown matlab md nginx nim nix objc ocaml pascal patch perl php plaintext powershell properties proto
protobuf python py python3 r rb regex rst ruby rust rs sass scala scheme scss sh shell solidity sql svelte swift tcl
terraform tex text toml ts tsx txt typescript vb vim vue wasm xml yaml yml zig zsh
"""
LANGUAGES = frozenset(_WORDS.split())
"""The words that may stand behind a fence; others may mean a program to whoever renders it (`mermaid`, `dataviewjs`, `{r}`)."""

_RUN = re.compile("`{3,}")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>#!|@$~^&])")
_MARKUP = re.compile(r"[!-+;-@\[-`{-~]")
_ENGINE = re.compile(r"^([\t >]*)(`{3,}|~{3,})(?=[ \t]*\{)", re.MULTILINE)
_GAP = "\u200b"


def plain(text: str) -> str:
    """Return a text as it stands in a fence: no colours, what can't be seen made visible, `\\n` as line break."""
    return visible(without_colours(text))


def fence(text: str, language: str = "text") -> list[str]:
    """Return, in pieces, a fenced block that holds the text, which is `plain`; no line of it can close the block."""
    ticks = "```" if "```" not in text else "`" * (max(map(len, _RUN.findall(text))) + 1)
    return [f"{ticks}{language}\n", text, f"{ticks}\n" if text.endswith("\n") else f"\n{ticks}\n"]


def quarto_fence(text: str, language: str = "text") -> list[str]:
    """
    Return, in pieces, a fenced block for a Quarto document: no cell that is run, and no shortcode that is expanded.

    Where a line looks like the opening of a cell, or a shortcode begins, an invisible space (U+200B) is put in.
    """
    if "{{" in text:
        text = re.sub(r"\{\{(?=[<%{])", "{" + _GAP + "{", text)
    if "{" in text and ("```" in text or "~~~" in text):
        text = _ENGINE.sub(rf"\1\2{_GAP}", text)
    ticks, body, end = fence(text, "")
    return [f'{ticks.rstrip()} {{.{language} shortcodes="false"}}\n', body, end]


def escaped(text: str, most: int = 200) -> str:
    """Return a text as one line in which nothing is markup: for headings and labels."""
    return _PUNCTUATION.sub(r"\\\1", line(text, most)).replace("\\<", "&lt;")


def coded(text: str, most: int = 400) -> str:
    """Return a text as one line of code, in which nothing is markup."""
    said = line(text, most).replace("{{", "{" + _GAP + "{")
    if "`" not in said:
        return f"`{said}`"
    ticks = "`" * (max(map(len, re.findall("`+", said))) + 1)
    return f"{ticks} {said} {ticks}"


@lru_cache(maxsize=1000)
def summary(text: str, most: int = 200) -> str:
    """Return a text as one line of HTML in which nothing is markup, for renderers that look for Markdown in HTML too."""
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", line(text, most))


def title_word(text: str, most: int = 200) -> str:
    """Return a text as the value of an attribute in double quotes, in which nothing is markup."""
    return re.sub(r"[^\w\s.,:/·()-]+", " ", line(text, most).replace("_", " ")).strip()

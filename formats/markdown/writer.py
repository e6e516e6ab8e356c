"""Writes sessions as Markdown: one file a session, for people, GitHub, Obsidian and whatever else shows Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from satchel.contracts import Export, Target
from satchel.events import Listener
from satchel.formats.markdown.document import Documents, Style, choices
from satchel.formats.markdown.literal import fence, summary

__all__ = ["file_name", "layout", "layout_of", "name", "open", "suffix"]

name = "md"
layout: Literal["directory"] = "directory"
suffix = ".md"
file_name = ""


def layout_of(options: Mapping[str, Any]) -> Literal["file", "directory"]:
    """Return what one export is: prompts go into one file."""
    return "file" if options.get("only") else "directory"


def open(target: Target, *, options: Mapping[str, Any], listen: Listener) -> Export:
    """
    Start an export.

    Options:
        only: "user-prompts" for one document of what people typed.
        detail: "full" for everything, "chat" for what people and models said, "prompts" for what people typed.
        body: "rendered" to keep Markdown as such, "verbatim" for every text letter by letter.
        images: "files" beside the documents, "data" inside them, "none".

    Raises:
        UsageError: An option is not known.
    """
    if options.get("only"):
        from satchel.formats.markdown.prompts import open_prompts

        return open_prompts(target, options)
    return Documents(target, _STYLE, choices(options, _STYLE), finish=lambda target: None)


def _folding(title: str) -> str:
    return f"<details><summary>{summary(title, 240)}</summary>\n\n"


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    return facts | {"format": name}


_STYLE = Style(name, suffix, "rendered", fence, _folding, "\n</details>\n\n", _facts, False)

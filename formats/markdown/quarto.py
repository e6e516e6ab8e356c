"""
Writes sessions as Quarto: a project of one document a session, which renders without running anything.

There is no cell, no shortcode and no raw part in it, and the engine is the one that runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from satchel.contracts import Export, Target, share
from satchel.events import Listener
from satchel.formats.markdown.document import Documents, Style, choices
from satchel.formats.markdown.front_matter import front_matter, yaml_text
from satchel.formats.markdown.literal import escaped, quarto_fence, title_word

__all__ = ["file_name", "layout", "name", "open", "suffix"]

name = "qmd"
layout: Literal["directory"] = "directory"
suffix = ".qmd"
file_name = ""

_FROM = "markdown-raw_html-raw_tex-raw_attribute-tex_math_dollars-citations"
_HTML = {"toc": True, "toc-depth": 2, "embed-resources": True, "code-overflow": "wrap"}
_STILL = {"engine": "markdown", "execute": {"enabled": False, "eval": False}, "from": _FROM}


def open(target: Target, *, options: Mapping[str, Any], listen: Listener) -> Export:
    """
    Start an export.

    Options:
        detail: "full" for everything, "chat" for what people and models said, "prompts" for what people typed.
        body: "verbatim" for every text letter by letter, "rendered" to keep Markdown as such.
        images: "files" beside the documents, "data" inside them, "none".

    Raises:
        UsageError: An option is not known.
    """
    return Documents(target, _STYLE, choices(options, _STYLE), finish=_project)


def _folding(title: str) -> str:
    return f'::: {{.callout-note collapse="true" title="{title_word(title)}"}}\n\n'


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    title = facts.pop("title") or facts["session_id"]
    quiet = {key: _quiet(value) for key, value in facts.items()}
    # Quarto reads the title as Markdown.
    return {"title": escaped(title), "date": facts["created_at"], **_STILL, "format": {"html": _HTML}, "session": quiet}


def _quiet(value: Any) -> Any:
    """Return a fact in which no shortcode begins."""
    if isinstance(value, list):
        return [_quiet(item) for item in value]
    return value.replace("{{", "{\u200b{") if isinstance(value, str) else value


def _project(target: Target) -> None:
    """Write the project's file, and its first page, which Quarto fills with a list of the documents."""
    site = {"title": "Sessions", "search": True}
    project = {"project": {"type": "website", "render": ["*.qmd"]}, "website": site, **_STILL, "format": {"html": _HTML}}
    share(target, "_quarto.yml", yaml_text(project).encode())
    listing = {"contents": ["*.qmd"], "type": "table", "fields": ["date", "title"], "sort": "date desc"}
    page = front_matter({"title": "Sessions", **_STILL, "listing": listing, "format": {"html": {"toc": False}}})
    share(target, "index.qmd", page + b"\nThe sessions of this folder.\n")


_STYLE = Style(name, suffix, "verbatim", quarto_fence, _folding, "\n:::\n\n", _facts, True)

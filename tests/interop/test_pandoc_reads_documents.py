"""
Pandoc reads our documents as they are meant: each message in its own turn, and nothing in it that is more than text.

Pandoc's Markdown knows much that CommonMark does not: raw TeX, attributes, citations, tables of four kinds, captions, divisions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import HOSTILE, documents, hostile_texts, one_session
from hermes_parts import assistant, call, tool, user

READ = """
import json, pypandoc, sys
print(json.dumps(pypandoc.get_pandoc_path()))
"""
_MARKED = {"n", "id", "role", "author", "state", "ts", "rows", "bytes", "sha256"}
FORMATS = ["markdown", "gfm", "commonmark_x"]


@pytest.fixture(scope="module")
def pandoc() -> str:
    """The program, from the environment of the readers, or from the path."""
    python = os.environ.get("SATCHEL_PEER_READERS")
    if python:
        done = subprocess.run([python, "-c", READ], capture_output=True, text=True, check=True)
        return str(json.loads(done.stdout))
    found = shutil.which("pandoc")
    if found is None:
        pytest.skip("pandoc is not here")
    return found


def _read(pandoc: str, text: str, format: str) -> dict[str, Any]:
    done = subprocess.run(
        [pandoc, "--preserve-tabs", "-f", format, "-t", "json"], input=text.encode(), capture_output=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "t" in value:
            yield value
        for item in value.values():
            yield from _nodes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)


def _text(node: Any) -> str:
    return "".join(str(n.get("c", "")) if n["t"] == "Str" else " " for n in _nodes(node))


_OURS = re.compile(r"<!-- (?:head|msg) [^<>]* -->\n?|</?details>|</?summary>")
_WEB = re.compile(r"https?://|mailto:|#|[\w%.~-]+\.q?md$", re.IGNORECASE)


def _faults(pandoc: str, text: str, format: str, messages: int, *, quarto: bool = False) -> list[str]:
    found: list[str] = []
    read = _read(pandoc, text, format)
    turns = 0
    for node in _nodes(read["blocks"]):
        kind = node["t"]
        content: Any = node.get("c")
        if kind in ("RawBlock", "RawInline"):
            if not _OURS.fullmatch(content[1].strip("\n")) and not re.fullmatch(
                r"<details><summary>[^<>]*</summary>|</details>", content[1].strip("\n")
            ):
                found.append(f"raw: {content[1][:80]}")
        elif kind in ("Math", "Cite", "Image", "Note"):
            found.append(f"{kind}: {str(content)[:80]}")
        elif kind == "Link" and not _WEB.match(content[2][0]):
            found.append(f"link: {content[2][0][:80]}")
        elif kind == "Header":
            is_turn = re.match(r"\d+ +· ", _text(content[2])) is not None and content[0] < 4
            turns += is_turn
            if content[0] < 4 and not is_turn and content[0] != 1:
                found.append(f"heading: {_text(content[2])[:80]}")
        if kind in ("Header", "CodeBlock", "Code", "Span", "Div", "Link"):
            attributes = dict((content[1] if kind == "Header" else content[0])[2])
            ours = _MARKED | {"shortcodes", "collapse", "title", "data-emoji"}
            if attributes.keys() - ours and not (quarto and kind == "Div"):
                found.append(f"attributes: {attributes}")
    if turns != messages:
        found.append(f"{turns} turns, and {messages} messages")
    return found


def _turns(texts: list[str]) -> list[Any]:
    rows: list[Any] = []
    for text in texts:
        rows += [user(text), assistant(text, call("c", text, command=text), reasoning=text), tool("c", text, text)]
    return rows


@pytest.mark.parametrize("format", FORMATS)
def test_no_text_breaks_out_of_a_document(pandoc: str, tmp_path: Path, format: str) -> None:
    for seed in range(3):
        turns = _turns([*HOSTILE, *hostile_texts(seed, 120)])
        folder = tmp_path / str(seed)
        store = one_session(folder / "store", turns, title="\n".join(HOSTILE), cwd=HOSTILE[-1])
        text = next(iter(documents(store, folder / "out").values()))
        assert [] == _faults(pandoc, text, format, len(turns))
        assert {"session_id", "title", "format", "redacted"} <= _read(pandoc, text, "markdown")["meta"].keys()
        assert {"title", "engine"}.isdisjoint(_read(pandoc, text.partition("\n---\n")[2], "markdown")["meta"].keys())


@pytest.mark.parametrize("body", ["verbatim", "rendered"])
def test_no_text_breaks_out_of_a_quarto_document(pandoc: str, tmp_path: Path, body: str) -> None:
    turns = _turns([*HOSTILE, *hostile_texts(9, 120)])
    store = one_session(tmp_path / "store", turns, title="\n".join(HOSTILE), model="`<b>`{=html}")
    text = next(iter(documents(store, tmp_path / "out", "qmd", body=body).values()))
    read_as = re.search(r'^from: "(.*)"$', text, re.MULTILINE)
    assert read_as is not None
    assert [] == _faults(pandoc, text, read_as[1], len(turns), quarto=True)
    read = _read(pandoc, text, read_as[1])
    parts = [node for node in read["blocks"] if node["t"] == "Div" and "message" in node["c"][0][1]]
    assert len(turns) == len(parts), "each message is a division of its own"
    assert [str(n) for n in range(1, len(turns) + 1)] == [dict(part["c"][0][2])["n"] for part in parts]
    assert "markdown" == _text(read["meta"]["engine"]).strip()


def test_every_tool_result_is_there_letter_by_letter(pandoc: str, tmp_path: Path) -> None:
    texts = [*HOSTILE, *hostile_texts(5, 60)]
    store = one_session(tmp_path / "store", [tool("c", "t", f"begin\n{text}\nend") for text in texts])
    text = next(iter(documents(store, tmp_path / "out").values()))
    shown = [node["c"][1] for node in _nodes(_read(pandoc, text, "gfm")["blocks"]) if node["t"] == "CodeBlock"]
    wanted = [f"begin\n{text}\nend".replace("\u2028", "<U+2028>").replace("\x0b", "␋") for text in texts]
    assert wanted == shown

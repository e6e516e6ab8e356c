"""Whether all that a store says is in its documents, or named among what they leave out."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from documents import documents
from exporting import View

from satchel.contracts import Reader
from satchel.errors import NotAStore
from satchel.formats.registry import detect
from satchel.formats.turns import visible, without_colours

__all__ = ["missing", "real_logs"]

# Of an item in a list: the page counts by itself.
_NUMBER = re.compile(r"^[\s>]*\d{1,9}[.)](?=\s)")


def plain(text: str) -> str:
    """Return a text as it is shown."""
    return visible(without_colours(text))


def _letters(text: str) -> str:
    return re.sub(r"\W+|_", "", unquote(html.unescape(text)))


def _is_there(leaf: str, text: str, assets: set[bytes]) -> bool:
    data = leaf.rpartition(",")[2]
    if len(data) > 40 and len(data) % 4 == 0 and re.fullmatch(r"[A-Za-z0-9+/]+=*", data) and base64.b64decode(data) in assets:
        return True
    spelt = _letters(json.dumps(leaf, ensure_ascii=False))
    return (
        _letters(plain(leaf)) in text
        or spelt in text
        or all(_letters(plain(_NUMBER.sub("", part))) in text for part in re.split(r"[\n<>()\[\]]", leaf))
    )


def missing(store: Path, tmp_path: Path, opened: Any, *, format: str = "md", read: Callable[[str], str] = str) -> list[str]:
    """Return the texts of a store that are neither in its documents nor among what they say they leave out."""
    documents(store, tmp_path / "out", format)
    lines = [json.loads(line) for line in (tmp_path / "out" / "manifest.jsonl").read_text().splitlines()]
    said = {line["session_id"]: line for line in lines if line["type"] == "session"}
    missing: list[str] = []
    texts: dict[str, str] = {}
    assets = {path.read_bytes() for path in (tmp_path / "out").glob("assets/*")}
    with opened as stores:
        for info in stores.sessions(counts=False):
            line = said[info.id]
            if line["file"] not in texts:
                texts[line["file"]] = _letters(read((tmp_path / "out" / line["file"]).read_text("utf-8")))
            text = texts[line["file"]]
            losses = set(line["losses"])
            for entry in View(stores, info.id).entries():
                for record in entry.records:
                    kind = f"notes: {getattr(entry, 'kind', '')}"
                    for path, leaf in _leaves(record.data, "", record.kind == "messages"):
                        column = path.partition(".")[0]
                        names = {f"fields: {path}", f"fields: {column}", f"fields: {record.kind}.{column}", kind}
                        if path.startswith("tool_call"):
                            names.add("ids and types of tool calls")
                        if path.startswith("content."):
                            names.add("types of parts")
                        if "reasoning" in path:
                            names.add("hidden reasoning")
                        if not names & losses and not _is_there(leaf, text, assets):
                            missing.append(f"{info.id} {record.kind} {path}: {leaf[:60]!r}")
    return missing


def _leaves(value: Any, path: str, row: bool) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key), row)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, path, row)
    elif isinstance(value, str):
        coded = value.removeprefix("\0json:")
        if row and coded[:1] in ("[", "{", '"') and (path.startswith("tool_calls") or coded is not value):
            try:
                yield from _leaves(json.loads(coded), path, row)
                return
            except ValueError:
                pass
        yield path, value


def real_logs(folder: Path) -> Iterator[tuple[Path, Reader]]:
    """Yield the logs of a folder that are of a kind we read, but for very large ones, each with its reader."""
    for path in sorted(folder.rglob("*.jsonl")):
        try:
            if path.stat().st_size < 4 << 20:
                yield path, detect(path)
        except NotAStore:
            continue

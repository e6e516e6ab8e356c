"""
Which files of a folder are Codex' rollouts, and what else belongs to its home.

Nothing else of a home is opened: it has keys and settings in it that are no part of any session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from satchel.errors import StoreError
from satchel.formats.codex.document import is_document
from satchel.formats.codex.shapes import is_line, is_prompt
from satchel.formats.log_store import Tell, entries, first_objects, silent

__all__ = ["Found", "Name", "Tree", "candidates", "find", "name_of", "what_is"]

FOLDERS = ("sessions", "archived_sessions")
_ENDS = (".jsonl", ".jsonl.zst", ".json")
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NAME = re.compile(rf"rollout-(\d{{4}}-\d\d-\d\d(?:T\d\d-\d\d-\d\d)?)-(?:({_UUID})(?:_({_UUID}))?|(.+?))( ?\(\d+\))?")
_ANY_UUID = re.compile(_UUID)
_STATE = re.compile(r"state(?:_(\d+))?\.sqlite")
_DEPTH = 64
_LOOKED_INTO = 5
"""How deep a folder is looked into that may be any."""
_FOLDERS = 20_000
_HEAD = 1 << 16
_NO_ROLLOUTS = frozenset(["history.jsonl", "session_index.jsonl", "auth.json", "version.json", "models_cache.json"])
_NOT_INTO = frozenset(["node_modules", "log", "shell_snapshots", "thread-writer-locks", "skills", "prompts", "memories"])


@dataclass(frozen=True, slots=True)
class Name:
    """What a rollout's name says: when it was begun (local time), of which thread, which later part, and whether it is a copy."""

    stamp: str
    thread: str | None
    part: str | None
    is_copy: bool


@dataclass(slots=True)
class Found:
    """A rollout: `twin` is the compressed file of the same name, which counts for nothing."""

    path: Path
    name: str
    archived: bool = False
    kind: str = "lines"
    twin: Path | None = None


@dataclass(slots=True)
class Tree:
    """What was found at a path; names are relative to `root`."""

    root: Path
    rollouts: list[Found] = field(default_factory=list)
    history: Path | None = None
    index: Path | None = None
    states: list[Path] = field(default_factory=list)
    """Databases with titles, the newest kind first."""


def stem_of(name: str) -> str:
    """Return a file's name without its ending."""
    for end in (".zst", ".jsonl", ".json"):
        name = name.removesuffix(end)
    return name


def name_of(path: Path) -> Name:
    """Return what the name of a file says."""
    stem = stem_of(path.name)
    found = _NAME.fullmatch(stem)
    if found is not None:
        return Name(found[1], found[2] or found[4], found[3], found[5] is not None)
    any_id = _ANY_UUID.search(stem)
    return Name("", any_id[0] if any_id else None, None, False)


def what_is(path: Path) -> str | None:
    """Say by its content what a file is: "lines", a "document", "prompts" of the history; None for what is not Codex'."""
    first = b""
    try:
        for line, data in first_objects(path):
            first = first + line if len(first) < _HEAD else first
            if is_line(data):
                return "lines"
            if is_prompt(data):
                return "prompts"
        return "document" if is_document(first) else None
    except (StoreError, OSError, ValueError):
        return None


def find(path: Path, tell: Tell) -> Tree:
    """Return the rollouts at a path, whatever it is: one of them, a home, a folder with some."""
    if not path.is_dir():
        tree = Tree(path.parent)
        kind = what_is(path)
        if kind == "prompts":
            tree.history = path
        else:
            archived = path.parent.name == "archived_sessions"
            tree.rollouts.append(Found(path, path.name, archived, kind or "lines"))
        return tree
    tree = Tree(path)
    if not is_home(path):
        tree.rollouts = _picked(_walk(path, tell, _DEPTH), path)
        return tree
    for folder in FOLDERS:
        tree.rollouts += _picked(_walk(path / folder, tell, _DEPTH), path, archived=folder == "archived_sessions")
    tree.rollouts += _picked(_walk(path, tell, 0), path)
    tree.history = _file(path / "history.jsonl")
    tree.index = _file(path / "session_index.jsonl")
    states = [(int(found[1] or 0), entry) for entry in entries(path, tell) if (found := _STATE.fullmatch(entry.name))]
    tree.states = [Path(entry.path) for _, entry in sorted(states, key=lambda item: -item[0])]
    return tree


def is_home(path: Path) -> bool:
    """Return whether a folder is laid out as Codex' home."""
    return any((path / folder).is_dir() for folder in FOLDERS) or (path / "history.jsonl").is_file()


def candidates(path: Path) -> Iterator[Path]:
    """Yield files of a folder that may tell whether it is Codex', the likeliest first; not many folders are looked into."""
    budget = [_FOLDERS]
    folders = [path / folder for folder in FOLDERS] if is_home(path) else [path]
    for folder in folders:
        yield from (file for file in _walk(folder, silent, _LOOKED_INTO, budget) if file.name.startswith("rollout-"))
    if (path / "history.jsonl").is_file():
        yield path / "history.jsonl"
    for folder in folders:
        yield from (file for file in _walk(folder, silent, _LOOKED_INTO, budget) if not file.name.startswith("rollout-"))


def _file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def _walk(
    folder: Path, tell: Tell, depth: int, budget: list[int] | None = None, seen: frozenset[tuple[int, int]] = frozenset()
) -> Iterator[Path]:
    """
    Yield the files of a folder that may be rollouts by their names.

    A year that was moved to another disk may stand there as a link; `seen` are the folders above, which it must not lead back to.
    """
    try:
        found = os.stat(folder)
    except OSError:
        found = None
    if found is not None:
        if (found.st_dev, found.st_ino) in seen:
            return
        seen |= {(found.st_dev, found.st_ino)}
    if budget is not None:
        budget[0] -= 1
        if budget[0] < 0:
            return
    for entry in entries(folder, tell):
        try:
            if entry.is_file():
                if entry.name.endswith(_ENDS) and entry.name not in _NO_ROLLOUTS:
                    yield Path(entry.path)
            elif depth and entry.is_dir() and entry.name not in _NOT_INTO and entry.name[0] != ".":
                yield from _walk(Path(entry.path), tell, depth - 1, budget, seen)
        except OSError:
            continue


def _picked(files: Iterator[Path], root: Path, *, archived: bool = False) -> list[Found]:
    """Return the rollouts among files: by name, or else by content; of one that stands there twice, the plain one."""
    picked: dict[Path, Found] = {}
    packed: list[Path] = []
    for path in files:
        named = path.name.startswith("rollout-")
        if path.name.endswith(".zst"):
            packed.append(path)
            continue
        kind = None
        if path.name.endswith(".json"):
            kind = "document" if what_is(path) == "document" else None
        elif named or what_is(path) == "lines":
            kind = "lines"
        if kind is not None:
            away = archived or "archived_sessions" in path.relative_to(root).parts
            picked[path] = Found(path, path.relative_to(root).as_posix(), away, kind)
    for path in packed:
        plain = picked.get(path.with_name(path.name.removesuffix(".zst")))
        if plain is not None:
            plain.twin = path
        elif path.name.startswith("rollout-") or what_is(path) == "lines":
            away = archived or "archived_sessions" in path.relative_to(root).parts
            picked[path] = Found(path, path.relative_to(root).as_posix(), away)
    return sorted(picked.values(), key=lambda found: found.name)

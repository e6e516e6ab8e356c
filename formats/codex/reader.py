"""
Reads Codex CLI's sessions: a home, a folder of rollouts or one rollout, of any age.

The layout is docs/formats/codex.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from satchel.contracts import Claim
from satchel.errors import SatchelError
from satchel.events import Listener, ignore
from satchel.formats.codex.files import Tree, candidates, find, what_is
from satchel.formats.codex.store import CodexStore
from satchel.formats.log_lines import LogFile
from satchel.formats.log_store import Tell, open_tree, sniff_tree
from satchel.naming import safe_id
from satchel.timetext import iso_utc

__all__ = ["CodexStore", "name", "open", "own_name", "sniff"]

name = "codex"

_WHAT = {
    "lines": "lines of a Codex rollout",
    "document": "a rollout of Codex' first weeks",
    "prompts": "lines of Codex' history of prompts",
}


def sniff(path: Path) -> Claim | None:
    """Say whether a file has lines of a rollout, or a folder holds such files where Codex keeps them."""

    def kind_of(file: Path) -> str | None:
        kind = what_is(file)
        return _WHAT[kind] if kind is not None else None

    return sniff_tree(path, reader=name, kind_of=kind_of, candidates=candidates, folder="a folder of Codex' session logs")


def own_name(path: Path) -> str | None:
    """Return the name that Codex would give a rollout, or the history, at a path; the time in it is UTC."""
    kind = what_is(path)
    if kind == "prompts":
        return "history.jsonl"
    try:
        compressed = LogFile(path).compressed
        with open(path, listen=ignore) as store:
            info = next(store.sessions(counts=False))
    except (SatchelError, StopIteration):
        return None
    began = iso_utc(info.started_at, whole=True).removesuffix("Z").replace(":", "-")
    stem = "-".join(part for part in ("rollout", began, safe_id(info.id)) if part)
    return stem + (".json" if kind == "document" else ".jsonl") + (".zst" if compressed else "")


def open(path: Path, *, listen: Listener, private: bool = False) -> CodexStore:
    """
    Open a home, a folder of rollouts, or a rollout.

    Args:
        private: Read from a private copy of all its files, but of databases, which are read where they are.

    Raises:
        StoreError: It can't be read.
        NotAStore: There is no session in it.
    """
    states: list[Path] = []

    def look(at: Path, tell: Tell) -> Tree:
        tree = find(at, tell)
        states.extend(tree.states)
        tree.states = states
        return tree

    return open_tree(path, reader=name, listen=listen, private=private, find=look, files=_files, make=CodexStore)


def _files(tree: Tree) -> Iterator[Path]:
    """Yield what belongs to the sessions of a tree."""
    for found in tree.rollouts:
        yield found.path
        if found.twin is not None:
            yield found.twin
    yield from (file for file in (tree.history, tree.index) if file is not None)

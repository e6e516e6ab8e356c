"""
Reads Codex CLI's sessions: a home, a folder of rollouts or one rollout, of any age.

The layout is docs/formats/codex.md.
"""

from __future__ import annotations

from pathlib import Path

from satchel.contracts import Claim
from satchel.errors import NotAStore, StoreError
from satchel.events import Listener, Problem, StoreOpened
from satchel.formats.codex.files import Tree, candidates, find, what_is
from satchel.formats.codex.store import CodexStore

__all__ = ["CodexStore", "name", "open", "sniff"]

name = "codex"

_LOOKS = 200
_WHAT = {
    "lines": "lines of a Codex rollout",
    "document": "a rollout of Codex' first weeks",
    "prompts": "lines of Codex' history of prompts",
}


def sniff(path: Path) -> Claim | None:
    """Say whether a file has lines of a rollout, or a folder holds such files where Codex keeps them."""
    try:
        if path.is_file():
            kind = what_is(path)
            return Claim(reader=name, why=_WHAT[kind]) if kind is not None else None
        if not path.is_dir():
            return None
        for file, _ in zip(candidates(path), range(_LOOKS), strict=False):
            if what_is(file) is not None:
                return Claim(reader=name, why="a folder of Codex' session logs")
    except (OSError, ValueError):
        pass
    return None


def open(path: Path, *, listen: Listener, private: bool = False) -> CodexStore:
    """
    Open a home, a folder of rollouts, or a rollout.

    Args:
        private: Read from a private copy of all its files.

    Raises:
        StoreError: It can't be read.
        NotAStore: There is no session in it.
    """

    def tell(where: str, what: str) -> None:
        listen(Problem(where, what, "loss", 1))

    try:
        tree = find(path, tell=tell)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    copy = None
    if private:
        from tempfile import TemporaryDirectory

        copy = TemporaryDirectory(prefix="satchel-")
        try:
            tree = _copied(path, tree, Path(copy.name))
        except BaseException:
            copy.cleanup()
            raise
    listen(StoreOpened(name, str(path), "line by line"))
    store = CodexStore(path, tree, listen=listen, copy=copy)
    if not store.has_sessions:
        store.__exit__(None, None, None)
        raise NotAStore(f"{path} holds no session of Codex", subject=path)
    return store


def _copied(path: Path, tree: Tree, to: Path) -> Tree:
    """Copy what belongs to the sessions of a tree, and return the tree of the copy; databases are read where they are."""
    import shutil

    files = {found.path for found in tree.rollouts} | {found.twin for found in tree.rollouts if found.twin is not None}
    files |= {file for file in (tree.history, tree.index) if file is not None}
    for file in sorted(files):
        target = to / file.relative_to(tree.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file():
            continue
        try:
            shutil.copy2(file, target)
        except OSError as error:
            raise StoreError(f"{file} cannot be copied for reading: {error.strerror or error}", subject=file) from error
    found = find(to if path.is_dir() else to / path.name, tell=_silent)
    found.states = tree.states
    return found


def _silent(where: str, what: str) -> None:
    pass

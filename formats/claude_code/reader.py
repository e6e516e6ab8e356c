"""
Reads Claude Code's sessions: a home, a tree of projects, a project's folder or one transcript.

The layout is docs/formats/claude-code.md.
"""

from __future__ import annotations

from pathlib import Path

from satchel.contracts import Claim
from satchel.errors import JsonError, NotAStore, StoreError
from satchel.events import Listener, Problem, StoreOpened
from satchel.formats.claude_code.files import Tree, candidates, find, side_files
from satchel.formats.claude_code.scan import is_line, is_prompt_line
from satchel.formats.claude_code.store import ClaudeStore
from satchel.formats.log_lines import LogFile
from satchel.jsontext import loads

__all__ = ["ClaudeStore", "name", "open", "sniff"]

name = "claude"

_HEAD = 1 << 16
_LOOKS = 200
_LONGEST = 32 << 20
"""A line that is longer, in bytes, is not looked at as a whole."""


def sniff(path: Path) -> Claim | None:
    """Say whether a file has lines of a Claude Code transcript, or a folder holds such files where Claude Code keeps them."""
    try:
        if path.is_file():
            return _sniff_file(path)
        if not path.is_dir():
            return None
        for file, _ in zip(candidates(path), range(_LOOKS), strict=False):
            if _sniff_file(file) is not None:
                return Claim(reader=name, why="a folder of Claude Code's session logs")
    except (OSError, ValueError):
        pass
    return None


def _sniff_file(path: Path) -> Claim | None:
    read = 0
    try:
        with LogFile(path).open() as file:
            while read <= _HEAD and (line := file.readline(_LONGEST)):
                read += len(line)
                try:
                    data = loads(line)
                except JsonError:
                    continue
                if is_line(data):
                    return Claim(reader=name, why="lines of a Claude Code session")
                if is_prompt_line(data):
                    return Claim(reader=name, why="lines of Claude Code's history of prompts")
    except (StoreError, OSError):
        pass
    return None


def open(path: Path, *, listen: Listener, private: bool = False) -> ClaudeStore:
    """
    Open a home, a folder of projects or of one, or a transcript.

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
    store = ClaudeStore(path, tree, listen=listen, copy=copy)
    if not store.has_sessions:
        store.__exit__(None, None, None)
        raise NotAStore(f"{path} holds no session of Claude Code", subject=path)
    return store


def _copied(path: Path, tree: Tree, to: Path) -> Tree:
    """Copy what belongs to the sessions of a tree, and return the tree of the copy."""
    import shutil

    files = {found.path for found in tree.transcripts}
    for found in tree.transcripts:
        files.add(found.path.with_name(f"{found.path.stem}.meta.json"))
        if found.folder is not None:
            files.update(file for file, _ in side_files(found.folder, tell=_silent))
    if tree.history is not None:
        files.add(tree.history)
    for file in sorted(files):
        if not file.is_file():
            continue
        target = to / file.relative_to(tree.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(file, target)
        except OSError as error:
            raise StoreError(f"{file} cannot be copied for reading: {error.strerror or error}", subject=file) from error
    return find(to if path.is_dir() else to / path.name, tell=_silent)


def _silent(where: str, what: str) -> None:
    pass

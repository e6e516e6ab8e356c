"""
Which files of a folder are Claude Code's, and what belongs to which session.

Facts: docs/formats/claude-code.md, "On disk". Folders are listed, never followed through links inside a session's own folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from satchel.formats.log_store import Tell, entries, silent

__all__ = ["Found", "Tree", "candidates", "find", "is_transcript_name", "is_uuid", "side_files", "stem_of"]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ENDS = (".jsonl", ".jsonl.zst")
_DEPTH = 64
"""Folders below that of the projects in which transcripts may lie: no path of an agent's is as long."""
_LOOKED_INTO = 3
"""How deep a folder is looked into that may be any."""

_OTHERS = frozenset(["memory", "node_modules", "tool-results"])


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID, as the names of transcripts are."""
    return _UUID.fullmatch(text) is not None


def stem_of(path: Path) -> str:
    """Return a transcript's name without its ending."""
    name = path.name
    for end in reversed(_ENDS):
        name = name.removesuffix(end)
    return name


def is_transcript_name(name: str) -> bool:
    """Return whether a file may be a transcript by its name."""
    return name.endswith(_ENDS) and name not in ("history.jsonl", "journal.jsonl")


@dataclass(slots=True)
class Found:
    """A transcript: `folder` is the one of its session, where its outputs lie; `session` the id that the folder's name gives."""

    path: Path
    name: str
    folder: Path | None = None
    session: str | None = None
    is_agent: bool = False
    """Whether it is a subagent's, by the folder it lies in or, less surely, by its name."""
    is_sure: bool = False

    @property
    def is_at_home(self) -> bool:
        """Whether it lies where Claude Code keeps its sessions."""
        return self.name.startswith("projects/")


@dataclass(slots=True)
class Tree:
    """What was found at a path; names are relative to `root`."""

    root: Path
    transcripts: list[Found] = field(default_factory=list)
    history: Path | None = None
    only: str | None = None
    """The one session that is wanted, where a transcript was named: subagents of others may lie beside it."""


def find(path: Path, tell: Tell) -> Tree:
    """Return the transcripts at a path, whatever it is: one of them, a project's folder, the folder of projects, a home."""
    if not path.is_dir():
        tree = Tree(path.parent)
        if path.name == "history.jsonl":
            tree.history = path
            return tree
        stem = stem_of(path)
        tree.transcripts.append(_found(path, tree.root))
        if is_uuid(stem):
            tree.only = stem
            tree.transcripts += _agents(path.parent / stem, tree.root, tell)
            tree.transcripts += (found for found in _folder(path.parent, tree.root, tell, depth=0) if found.is_agent)
        return tree
    tree = Tree(path)
    history = path / "history.jsonl"
    if history.is_file():
        tree.history = history
    projects = path / "projects"
    if projects.is_dir():
        tree.transcripts += _folder(projects, path, tell, depth=_DEPTH)
        tree.transcripts += _folder(path, path, tell, depth=0)
    elif is_uuid(path.name) and (path / "subagents").is_dir():
        tree.transcripts += _agents(path, path, tell)
    else:
        tree.transcripts += _folder(path, path, tell, depth=_DEPTH)
    return tree


def candidates(path: Path) -> Iterator[Path]:
    """Yield files of a folder that may tell whether it is Claude Code's, the likeliest first, from some of its folders."""
    projects = path / "projects"
    if is_uuid(path.name):
        yield from (found.path for found in _agents(path, path, silent))
    budget = [_FOLDERS]
    for folder, depth in ((projects, _DEPTH), (path, _LOOKED_INTO)):
        yield from (found.path for found in _folder(folder, path, silent, depth=depth, budget=budget))
    if (path / "history.jsonl").is_file():
        yield path / "history.jsonl"


_FOLDERS = 20_000


def _found(path: Path, root: Path) -> Found:
    stem = stem_of(path)
    session = path.parent
    if stem.startswith("agent-"):
        # …/<session>/subagents/agent-<id>.jsonl, or deeper; in early versions beside the session's file.
        for parent in path.parents:
            if parent.name == "subagents":
                session = parent.parent
                break
            if parent == root:
                break
        known = session.name if is_uuid(session.name) else None
        return Found(path, _relative(path, root), session if known else None, known, is_agent=True, is_sure=known is not None)
    return Found(path, _relative(path, root), path.parent / stem, stem if is_uuid(stem) else None)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _is(entry: os.DirEntry[str], kind: str, *, follow: bool = True) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow) if kind == "folder" else entry.is_file(follow_symlinks=follow)
    except OSError:
        return False


def _folder(
    folder: Path,
    root: Path,
    tell: Tell,
    *,
    depth: int,
    budget: list[int] | None = None,
    above: frozenset[tuple[int, int]] = frozenset(),
) -> Iterator[Found]:
    """
    Yield the transcripts in a folder and below it.

    A project may stand there as a link; `above` are the folders on the way, to which it must not lead back.
    """
    try:
        status = os.stat(folder)
    except OSError:
        pass  # That it can't be looked into is told below.
    else:
        if (status.st_dev, status.st_ino) in above:
            return
        above |= {(status.st_dev, status.st_ino)}
    if budget is not None:
        budget[0] -= 1
        if budget[0] < 0:
            return
    for entry in entries(folder, tell):
        path = Path(entry.path)
        if is_transcript_name(entry.name) and _is(entry, "file"):
            yield _found(path, root)
        elif depth and _is(entry, "folder"):
            if is_uuid(entry.name):
                yield from _agents(path, root, tell)
            elif entry.name in _OTHERS or entry.name.startswith("."):
                continue
            elif depth > 1 or budget is not None:
                yield from _folder(path, root, tell, depth=depth - 1, budget=budget, above=above)
            else:
                tell(entry.path, "it lies too deep among the folders of projects, and is left out")


def _agents(session: Path, root: Path, tell: Tell) -> Iterator[Found]:
    """Yield the transcripts of subagents in a session's folder."""
    for path, name in side_files(session, tell=tell):
        if is_transcript_name(path.name) and name.startswith("subagents/"):
            found = _found(path, root)
            yield Found(found.path, found.name, session, session.name, is_agent=True, is_sure=True)


def side_files(session: Path, *, tell: Tell, depth: int = 4) -> Iterator[tuple[Path, str]]:
    """
    Yield the files in a session's folder, each with its name relative to it, in the order of names.

    Links are not followed: what a transcript names must not lead out of the folder.
    """
    try:
        is_link = stat.S_ISLNK(os.lstat(session).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        is_link = session.is_symlink()
    if is_link:
        tell(str(session), "it is a link, and what it leads to is no part of the session")
        return
    todo = [(session, "")]
    while todo:
        folder, prefix = todo.pop()
        below = []
        for entry in entries(folder, tell):
            if _is(entry, "folder", follow=False):
                if prefix.count("/") < depth:
                    below.append((Path(entry.path), f"{prefix}{entry.name}/"))
                else:
                    tell(entry.path, "it lies too deep in a session's folder, and is left out")
            elif entry.is_symlink():
                tell(entry.path, "it is a link, and what it leads to is no part of the session")
            elif _is(entry, "file", follow=False):
                yield Path(entry.path), f"{prefix}{entry.name}"
        todo += reversed(below)

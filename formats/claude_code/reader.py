"""
Reads Claude Code's sessions: a home, a tree of projects, a project's folder or one transcript.

The layout is docs/formats/claude-code.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from satchel.contracts import Claim
from satchel.errors import StoreError
from satchel.events import Listener
from satchel.formats.claude_code.files import Tree, candidates, find, side_files
from satchel.formats.claude_code.scan import is_line, is_prompt_line, read
from satchel.formats.claude_code.store import ClaudeStore
from satchel.formats.log_lines import LogFile
from satchel.formats.log_store import first_objects, open_tree, silent, sniff_tree
from satchel.naming import safe_id

__all__ = ["ClaudeStore", "name", "open", "own_name", "sniff"]

name = "claude"

_PROMPTS = "lines of Claude Code's history of prompts"


def sniff(path: Path) -> Claim | None:
    """Say whether a file has lines of a Claude Code transcript, or a folder holds such files where Claude Code keeps them."""
    what = "a folder of Claude Code's session logs"
    return sniff_tree(path, reader=name, kind_of=_kind_of, candidates=candidates, folder=what)


def _kind_of(path: Path) -> str | None:
    try:
        for _, data in first_objects(path):
            if is_line(data):
                return "lines of a Claude Code session"
            if is_prompt_line(data):
                return _PROMPTS
    except (StoreError, OSError):
        pass
    return None


def own_name(path: Path) -> str | None:
    """Return the name that Claude Code would give a transcript, or the history, at a path."""
    if _kind_of(path) == _PROMPTS:
        return "history.jsonl"
    try:
        log = LogFile(path)
        facts = read(log)
    except StoreError:
        return None
    session = facts.session or facts.named
    if facts.agent is not None and facts.is_sidechain and not facts.has_main:
        session = f"agent-{facts.agent}"
    return None if session is None else safe_id(session) + (".jsonl.zst" if log.compressed else ".jsonl")


def open(path: Path, *, listen: Listener, private: bool = False) -> ClaudeStore:
    """
    Open a home, a folder of projects or of one, or a transcript.

    Args:
        private: Read from a private copy of all its files.

    Raises:
        StoreError: It can't be read.
        NotAStore: There is no session in it.
    """
    return open_tree(path, reader=name, listen=listen, private=private, find=find, files=_files, make=ClaudeStore)


def _files(tree: Tree) -> Iterator[Path]:
    """Yield what belongs to the sessions of a tree."""
    for found in tree.transcripts:
        yield found.path
        yield found.path.with_name(f"{found.path.stem}.meta.json")
        if found.folder is not None:
            yield from (file for file, _ in side_files(found.folder, tell=silent))
    if tree.history is not None:
        yield tree.history

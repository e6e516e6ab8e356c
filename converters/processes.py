"""Which processes have a file open, as far as the system tells: on Linux it does, elsewhere the answer is that nobody knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Holder", "holders"]

_PROC = "/proc"
_DELETED = " (deleted)"


class Holder(NamedTuple):
    """
    A process that has one of the files open.

    Attributes:
        name: The program's name, as the system has it (15 characters).
        gone: Of the files it holds, those that were deleted or replaced since: by path, with what still reaches them.
    """

    pid: int
    name: str
    gone: tuple[tuple[str, str], ...]


def holders(paths: list[Path]) -> list[Holder] | None:
    """
    Return the processes but this one that have any of the files open, or None where the system does not tell.

    Processes of other users can't be looked into without their rights. Nothing is opened: names and numbers are compared.
    """
    if not os.path.isdir(f"{_PROC}/self/fd"):
        return None
    names = {os.path.realpath(path) for path in paths}
    same = {os.path.basename(name) for name in names}
    found: list[Holder] = []
    for pid in _numbers(_PROC):
        if pid == os.getpid():
            continue
        holds = False
        gone: dict[str, str] = {}
        for number in _numbers(f"{_PROC}/{pid}/fd"):
            link = f"{_PROC}/{pid}/fd/{number}"
            try:
                target = os.readlink(link)
            except OSError:
                continue
            file = target.removesuffix(_DELETED)
            if os.path.basename(file) not in same:
                continue
            if file in names:
                holds = True
                if target != file:
                    gone[file] = link
            elif target == file and _is_one_of(link, names):
                # The same file under another name: a container's, or another mount.
                holds = True
        if holds:
            found.append(Holder(pid, _name(pid), tuple(gone.items())))
    return found


def _numbers(folder: str) -> Iterator[int]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    yield from sorted(int(name) for name in names if name.isdigit())


def _is_one_of(link: str, names: set[str]) -> bool:
    try:
        here = os.stat(link)
        return any(os.path.samestat(here, os.stat(name)) for name in names if os.path.exists(name))
    except OSError:
        return False


def _name(pid: int) -> str:
    try:
        with open(f"{_PROC}/{pid}/comm", "rb") as file:
            return file.read(64).decode("utf-8", "replace").strip()
    except OSError:
        return ""

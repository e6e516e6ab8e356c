"""
Names inside a folder, and files opened without trust in them.

A relative name comes from a writer or, worse, from a manifest that anybody may have written. `unsafe_because` is the one judge of
such names; `size_of` and `open_regular` see to it that no link leads out of the folder and that nothing but a file is opened.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
import time
from collections.abc import Iterator

from satchel.errors import TargetError

__all__ = [
    "CHUNK",
    "hidden_name",
    "is_temporary",
    "left_over",
    "open_regular",
    "safe_relative",
    "sha256_of",
    "shown",
    "size_of",
    "sweep",
    "temporary_name",
    "unsafe_because",
]

CHUNK = 1 << 20
"""Bytes read or written at once."""

_NAME_MAX = 255
_STALE = 86_400.0  # seconds after which a temporary file hardly belongs to a living run
_TEMPORARY = r"(?s:\..*\.([0-9a-f]{8})\.satchel-tmp)"
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def unsafe_because(name: str, /) -> str:
    """
    Return why a relative name must not be used below a folder, or "" when it may.

    Parts are separated by "/". A part of only dots and spaces is refused, since Windows drops them at the end: ".. " is "..".
    """
    if not name:
        return "it is empty"
    if "\0" in name:
        return "it holds a NUL"
    if "\\" in name:
        return "it holds a backslash"
    if name[0] == "/":
        return "it is absolute"
    if name[1:2] == ":":
        return "it starts with a drive"
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        return "it has characters that no file name can hold"
    for part in encoded.split(b"/"):
        if not part.rstrip(b". "):
            return "a part of it is empty or leads upwards"
        if len(part) > _NAME_MAX:
            return f"a part of it is longer than {_NAME_MAX} bytes"
    return ""


def safe_relative(name: str, /) -> str:
    """
    Return the relative name as it is, when it stays below whatever folder it is joined to.

    Raises:
        TargetError: It does not; the text says why.
    """
    if why := unsafe_because(name):
        raise TargetError(f"'{shown(name)}' cannot be the name of an output file: {why}", subject=name)
    return name


def shown(name: str, /) -> str:
    """Return a name fit for a message: control characters and what is no character as escapes."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def size_of(root: str, name: str, linked: dict[str, str], /) -> int | str | None:
    """
    Return the size in bytes of the regular file that a safe relative name is, or why it must not be opened, or None for no file.

    Nothing is opened. A folder on the way that is a symbolic link is a reason; `linked` remembers the answers about folders.
    """
    if why := _link_before(root, name, linked):
        return why
    try:
        found = os.lstat(os.path.join(root, name))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if stat.S_ISREG(found.st_mode):
        return found.st_size
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link"
    return "it is a folder" if stat.S_ISDIR(found.st_mode) else "it is a device, a pipe or a socket"


def _link_before(root: str, name: str, linked: dict[str, str]) -> str:
    # From the top down to the first link or gap: a name of any length costs no more than what is there of it.
    at = name.find("/")
    while at >= 0:
        folder = name[:at]
        why = linked.get(folder)
        if why is None:
            try:
                mode = os.lstat(os.path.join(root, folder)).st_mode
            except OSError:
                return ""
            why = linked[folder] = f"{shown(folder)} is a symbolic link" if stat.S_ISLNK(mode) else ""
        if why:
            return why
        at = name.find("/", at + 1)
    return ""


def open_regular(path: str, /) -> io.FileIO:
    """
    Open a regular file for reading, unbuffered.

    Raises:
        OSError: It cannot be opened, or is anything but a regular file, so a link (a pipe does not block).
    """
    if not _NO_FOLLOW and os.path.islink(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    fd = os.open(path, _OPEN | _NO_FOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{shown(path)} is not a regular file")
        return io.FileIO(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def sha256_of(path: str, buffer: bytearray, /) -> tuple[int, str]:
    """Return how many bytes a regular file holds and their SHA-256 in hex, read through the buffer. Raises OSError."""
    view = memoryview(buffer)
    whole = len(view)
    digest = hashlib.sha256()
    total = 0
    with open_regular(path) as file:
        while count := file.readinto(view):
            digest.update(view if count == whole else view[:count])
            total += count
    return total, digest.hexdigest()


def hidden_name(name: str, suffix: str, /) -> str:
    """Return ".<name><suffix>", the name cut and marked with its digest where the whole would be longer than 255 bytes."""
    if len(os.fsencode(name)) + len(suffix) < _NAME_MAX:
        return f".{name}{suffix}"
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
    return f".{_cut(name, _NAME_MAX - 18 - len(suffix))}.{mark}{suffix}"


def temporary_name(name: str, digits: str, /) -> str:
    """Return the temporary name of a file: `.<name>.<8 hex digits>.satchel-tmp`, the name cut to fit into 255 bytes."""
    return f".{_cut(name, _NAME_MAX - 22)}.{digits}.satchel-tmp"


def is_temporary(name: str, /) -> bool:
    """Return whether a name has the form of `temporary_name`."""
    return re.fullmatch(_TEMPORARY, name) is not None


def _cut(name: str, limit: int) -> str:
    # A cut inside a character leaves bytes that are none, which Apple's file systems refuse: they go.
    encoded = os.fsencode(name)
    return name if len(encoded) <= limit else encoded[:limit].decode("utf-8", "ignore")


def sweep(folder: str, /, *, tag: str, deep: bool = False) -> None:
    """
    Remove the temporary files of a run that died.

    They are known by its tag, the first five of the eight digits, which its partial manifest gave them (see
    `satchel.manifest.unfinished`); in sub-folders only when it is to go deep. Files that cannot be removed stay.
    """
    todo = [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if deep:
                        todo.append(entry.path)
                    continue
                match = re.fullmatch(_TEMPORARY, entry.name)
                if match and match[1].startswith(tag) and entry.is_file(follow_symlinks=False):
                    os.unlink(entry.path)
            except OSError:
                continue


def left_over(folder: str, /) -> Iterator[str]:
    """
    Yield the names in a folder that look like temporary files of a run that died: nothing was written to them for a day.

    That is a guess, which nobody may delete by: a run without a manifest leaves nothing that proves a file to be its own.
    """
    oldest = time.time() - _STALE
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not is_temporary(entry.name) or not entry.is_file(follow_symlinks=False):
                    continue
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    yield entry.name
    except OSError:
        return

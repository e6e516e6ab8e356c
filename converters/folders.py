"""
Folders as sessions name them: compared by component, and by their text alone.

A store may hold paths of another system or of folders that are gone, so `/` and `\\` both separate, and nothing is asked of the
file system.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable

from satchel.errors import UsageError

__all__ = ["absolute", "below", "is_written_as_path"]

_WINDOWS = re.compile(r"[A-Za-z]:(?=[\\/]|$)|\\\\")
_RELATIVE = re.compile(r"(?:~|\.\.?)(?:[\\/]|$)")


def absolute(path: str, *, name: str) -> str:
    """
    Return the path with `~` expanded, and from the current folder when it is relative; links are not followed.

    Raises:
        UsageError: It is relative and there is no current folder; `name` is the option that it was given for.
    """
    if _WINDOWS.match(path):
        return path
    try:
        return os.path.abspath(os.path.expanduser(path))
    except OSError as error:
        raise UsageError(
            f"{name} {path!r} is relative, and the current folder cannot be found ({error})", subject=name
        ) from error


def is_written_as_path(text: str) -> bool:
    """Return whether the text can only be meant as a path: `~`, `.` or `..`, alone or before a separator."""
    return _RELATIVE.match(text) is not None


def below(folder: str) -> Callable[[str], bool]:
    """
    Return a function that says whether a path is the folder or lies in it, on component boundaries.

    `/` holds every absolute path. Paths of Windows, by their drive or share, compare without regard to case.
    """
    place = _place(folder)
    if place == "/":
        return lambda path: _is_absolute(_place(path))
    inside = f"{place}/"

    def test(path: str) -> bool:
        other = _place(path)
        return other == place or other.startswith(inside)

    return test


def _place(path: str) -> str:
    """Return the path with `/` only and without `.`, `..`, doubled and trailing separators; a Windows one in lower case."""
    text = path.replace("\\", "/")
    rooted = text.startswith("/")
    if "//" in text or "/." in text:
        text = posixpath.normpath(f"/{text.lstrip('/')}" if rooted else text)
    text = text.rstrip("/") or ("/" if rooted else "")
    if _WINDOWS.match(path):
        # A share keeps its two slashes, which set it apart from a path of another system.
        return (f"/{text}" if rooted else text).casefold()
    return text


def _is_absolute(place: str) -> bool:
    return place.startswith("/") or _WINDOWS.match(place) is not None

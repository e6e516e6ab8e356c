"""
Files that a user gives: policies, rules, lists of what goes and of what stays. All are small texts.
"""

from __future__ import annotations

import os

from satchel.errors import UsageError

__all__ = ["text_of_file"]

_MOST_BYTES = 4 << 20


def text_of_file(path: str | os.PathLike[str]) -> str:
    """Return what a text file holds. Raises UsageError, which never shows any of it."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name makes no sense"
        raise UsageError(f"{os.fspath(path)} can't be read: {reason}", subject=path) from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{os.fspath(path)} is larger than {_MOST_BYTES >> 20} MB", subject=path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{os.fspath(path)} is not a text in UTF-8", subject=path) from None

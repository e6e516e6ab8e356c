"""
Files opened without trust in their names: what lies beside a store may be a pipe, on which an ordinary opening waits for ever.
"""

from __future__ import annotations

import errno
import io
import os
import stat

__all__ = ["is_regular", "open_regular"]

_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: str | os.PathLike[str]) -> io.FileIO:
    """
    Open a regular file for reading, unbuffered; a link is followed.

    Raises:
        OSError: It can't be opened, or is anything but a regular file (errno EINVAL); a pipe does not block.
    """
    fd = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        return io.FileIO(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a regular file; a link is followed, and nothing opened. Raises OSError where that can't be told."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False

"""What is asked of the operating system to write files safely, with one sentence for each of its refusals."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable

from satchel.errors import TargetError
from satchel.manifest.paths import shown

__all__ = ["CREATE", "failure", "flush_folder", "into", "quietly", "rename_new", "syncfs", "umask"]

CREATE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "it grew larger than is allowed",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the name is too long",
}
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK}


def failure(error: OSError, path: str, /) -> TargetError:
    """Return the sentence for an operating system's refusal to write a path."""
    reason = _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return TargetError(f"{shown(path)} could not be written: {reason}", subject=path)


def flush_folder(folder: str, /) -> None:
    """Make the names in a folder durable, where the system can. Raises TargetError."""
    try:
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return  # Windows, or a folder that may be written to and not read
        raise failure(error, folder) from error
    try:
        os.fsync(fd)
    except OSError as error:
        # Some file systems have no such thing for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES):
            raise failure(error, folder) from error
    finally:
        quietly(os.close, fd)


def into(fd: int, path: str, /) -> Callable[[bytes], None]:
    """Return what writes bytes to a descriptor, all of them; `path` is for the error. It raises TargetError."""

    def sink(data: bytes) -> None:
        try:
            count = os.write(fd, data)
            view = memoryview(data)
            while count < len(view):
                view = view[count:]
                count = os.write(fd, view)
        except OSError as error:
            raise failure(error, path) from error

    return sink


def rename_new(old: str, new: str, /) -> None:
    """Rename, or raise FileExistsError rather than replace."""
    # A link is exclusive on every file system that has links.
    try:
        os.link(old, new)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        os.unlink(old)
        return
    if not _rename_exclusive(old, new):
        if os.path.lexists(new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
        os.rename(old, new)


def _rename_exclusive(old: str, new: str) -> bool:
    # renameat2 with RENAME_NOREPLACE; False where it does not exist.
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, OSError, AttributeError, TypeError):
        return False
    if call(-100, ctypes.c_char_p(os.fsencode(old)), -100, ctypes.c_char_p(os.fsencode(new)), 1) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), new)


def syncfs(fd: int, /) -> bool:
    """Flush the file system that a descriptor is on; return False where there is no such call. Raises OSError."""
    # ctypes costs 2 ms, a hundred flushes cost a second.
    try:
        import ctypes

        call = ctypes.CDLL(None, use_errno=True).syncfs
    except (ImportError, OSError, AttributeError, TypeError):
        return False
    if call(fd) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.ENOSYS:
        return False
    raise OSError(code, os.strerror(code))


def umask() -> int:
    """Return the process's umask."""
    # Asking by os.umask changes it for a moment, for every thread.
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def quietly(action: Callable[..., object], /, *args: object) -> None:
    """Do it, and go on when the system refuses."""
    with contextlib.suppress(OSError):
        action(*args)

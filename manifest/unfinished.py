"""
The partial manifest of a run: what it has done so far, kept beside its output until the real manifest is sealed.

It is three things in one file, `.<manifest>.partial`:

* **The lines** of the manifest to come, in order; a file's line is flushed to the disk before the file gets its final name.
* **A journal**: after a crash it says which files a dead run made, so that the next one may replace them without being forced to.
  A listed file counts as made by that run only while its bytes have the listed digest.
* **A lock**: the run holds it locked (flock), so that two runs cannot write into one folder. The system drops the lock of a dead
  process, whatever killed it; there is nothing to clean up by hand.

The number of its inode is in the names of the run's temporary files, so that the next run, which takes over this very file, can
remove those and no others. Where the system has no flock (Windows, some network file systems) it does not lock.

Whatever else has that name is somebody's, and is left alone: a dead run leaves a file that is empty, or starts with the header of
a manifest, has no totals, and no second name.
"""

from __future__ import annotations

import errno
import os
import stat

from satchel.errors import JsonError, TargetError
from satchel.events import Listener, Problem, ignore
from satchel.manifest.disk import failure, flush_folder, into, quietly
from satchel.manifest.lines import SCHEMA, header_of, is_readable, raw_lines
from satchel.manifest.paths import CHUNK, open_regular, shown

__all__ = ["Unfinished", "foreign_because"]

_OPENING = b'{"type":"header","schema":"%s",' % SCHEMA.encode()
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Unfinished:
    """
    The partial manifest, locked by this process.

    Attributes:
        path: Where it is.
        found: Whether a dead run left it.
        inherited: Bytes of whole lines that are a dead run's; ours follow.
        tag: What this file gives to the names of temporary files.

    Raises:
        TargetError: Another run holds it, something else has its name, or it cannot be made.
    """

    def __init__(self, path: str, *, listen: Listener = ignore) -> None:
        self.path = path
        self._fd, self.found = _take(path, listen)
        self.tag = f"{os.fstat(self._fd).st_ino & 0xFFFFF:05x}"
        self.inherited = 0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._durable = 0
        self._named = self.found
        try:
            if self.found:
                if why := foreign_because(path):
                    raise TargetError(f"{shown(path)} is in the way, and was left alone: {why}; move it elsewhere", subject=path)
                self.inherited = self._durable = _whole_lines(path)
                os.ftruncate(self._fd, self.inherited)
                os.lseek(self._fd, self.inherited, os.SEEK_SET)
            self._put = into(self._fd, path)
        except BaseException as error:
            if self.found:
                os.close(self._fd)
            else:
                self.remove()
            if isinstance(error, OSError):
                raise failure(error, path) from error
            raise

    def write(self, line: bytes, /) -> None:
        """Append a line; it may stay in memory until `flush`. Raises TargetError."""
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= CHUNK:
            self.flush()

    def flush(self) -> int:
        """Hand all lines to the system; return how many bytes the file has. Raises TargetError."""
        if self._waiting:
            lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
            self._put(b"".join(lines))
        return os.lseek(self._fd, 0, os.SEEK_CUR)

    def sync(self) -> None:
        """Make all lines durable. Raises TargetError."""
        length = self.flush()
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise failure(error, self.path) from error
        if not self._named:
            flush_folder(os.path.dirname(self.path))
            self._named = True
        self._durable = length

    def remove(self) -> None:
        """Remove the file and drop the lock: the run is complete."""
        # In this order: whoever waits for the lock sees that the file has gone, and starts with a new one.
        if self._fd >= 0 and _is_at(self.path, self._fd):
            quietly(os.unlink, self.path)
        self.close()

    def leave(self, *, ours: bool, inherited: bool) -> None:
        """Drop the lock and leave what the next run needs: our durable lines, or those of the dead run, or nothing at all."""
        if self._fd < 0:
            return
        length = self._durable if ours else self.inherited if inherited else 0
        if length:
            quietly(os.ftruncate, self._fd, length)
            self.close()
        else:
            self.remove()

    def close(self) -> None:
        """Drop the lock."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            quietly(os.close, fd)


def _take(path: str, listen: Listener) -> tuple[int, bool]:
    # The locked file, and whether it was there.
    while True:
        found = False
        try:
            try:
                fd = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                found = True
                try:
                    fd = os.open(path, _FLAGS)
                except FileNotFoundError:
                    continue  # its owner finished just now
        except OSError as error:
            raise failure(error, path) from error
        try:
            _lock(fd, path, listen)
            mine = os.fstat(fd)
            if not stat.S_ISREG(mine.st_mode):
                raise TargetError(f"{shown(path)} is in the way: it is no file", subject=path)
            held = _is_at(path, fd)
        except BaseException:
            os.close(fd)
            raise
        if held:
            return fd, found
        os.close(fd)


def _is_at(path: str, fd: int) -> bool:
    try:
        there, mine = os.lstat(path), os.fstat(fd)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def _lock(fd: int, path: str, listen: Listener) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            where = shown(os.path.dirname(path))
            raise TargetError(f"another run is writing into {where}: wait until it is done", subject=path) from error
        listen(Problem(path, "the file system has no locks, so nothing keeps a second run out of this folder"))


def foreign_because(path: str, /) -> str:
    """Return why a file is not the partial manifest of a run, or "" when it is. Raises OSError, or ManifestError."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return "it is no file"
    if not status.st_size:
        return ""
    if status.st_nlink > 1:
        return "it has a second name, which no partial manifest has"
    header = header_of(path)
    if header is None:
        with open_regular(path) as file:
            begun = file.read(1 << 16)
        torn = b"\n" not in begun and (begun.startswith(_OPENING) or _OPENING.startswith(begun))
        return "" if torn else "it is no partial manifest of Satchel"
    if not is_readable(header):
        return "another version of Satchel wrote it"
    if any(line.startswith(b'{"type":"totals"') for _, line in raw_lines(path)):
        return "it is a manifest with totals, which no partial one has"
    return ""


def _whole_lines(path: str) -> int:
    # Where the last line ends that a dead run wrote whole.
    from satchel.jsontext import loads

    if header_of(path) is None:
        return 0
    end = 0
    for start, line in raw_lines(path):
        try:
            if not line.endswith(b"\n") or not isinstance(loads(line), dict):
                break
        except JsonError:
            break
        end = start + len(line)
    return end

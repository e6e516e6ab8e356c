"""
Opens a SQLite file that another program may be using, as one consistent state and without a trace.

Untouched means: the same names, inodes and bytes of the database and its `-wal`, and nothing new in the folder. Three cases
(docs/formats/hermes-state.md, "Reading a live store"):

* immutable: there is no `-wal`, or it is empty. Nothing is locked and nothing created; that the file did not change meanwhile
  is checked.
* shared: `-wal` and `-shm` are there. A read-only connection that never checkpoints holds one read transaction.
* private: anything else (a WAL whose `-shm` is gone, a rollback journal, a folder that can't be written to, a file that was cut
  within a page). The files are copied into a private folder, by reflink where the file system can, and the copy is read. It has
  no name any more when it is read, so that nothing stays behind however the reading ends.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from satchel.errors import NotAStore, StoreChanged, StoreDamaged, StoreError
from satchel.formats.hermes_state.rows import no_room
from satchel.formats.regular import is_regular, open_regular

__all__ = ["Snapshot", "is_sqlite", "open_snapshot", "sides"]

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_BUSY_MS = 5_000
_COPY_TRIES = 5
_FICLONE = 0x40049409
_SIDES = ("-wal", "-shm", "-journal")
# Where SQLite puts the locks of those that use a database: whoever has this range, however few bytes, is one of them.
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
_CHUNK = 1 << 20


class _Print(NamedTuple):
    """What tells that a database file is still the one that was opened, unchanged."""

    device: int
    inode: int
    size: int
    modified: int
    header: bytes


class Snapshot:
    """
    A read-only connection to one state of a database.

    Attributes:
        connection: The apsw connection, inside a read transaction where the case needs one.
        path: The database the user named; not the private copy.
        how: In words, how it is read.
    """

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        how: str,
        *,
        seen: _Print | None = None,
        held: tuple[int, int] | None = None,
        folder: str = "",
    ) -> None:
        self.path = path
        self.connection = connection
        self.how = how
        self._seen = seen
        self._held = held
        self._folder = folder if folder and os.path.exists(folder) else ""
        if self._folder:
            from weakref import finalize

            # A system that lets no open file go.
            finalize(self, _remove, self._folder)

    def check(self) -> None:
        """Raise StoreChanged if what was read may not be one state: the file changed, or the transaction ended by itself."""
        if self._seen is not None and (self._seen != _print(self.path) or _hot_journal(self.path)):
            raise StoreChanged(f"{self.path} changed while it was read; try again", subject=self.path)
        if self._held is not None and not self.connection.in_transaction:
            raise StoreChanged(
                f"{self.path} could not be read as one state: the disk failed meanwhile; try again", subject=self.path
            )

    def close(self) -> None:
        """Close the connection without a checkpoint, and remove a private copy."""
        self.connection.close()
        if self._held is not None:
            held, self._held = self._held, None
            _let_go(held)
        _remove(self._folder)


def is_sqlite(path: Path) -> bool:
    """Return whether the file begins as a SQLite database does."""
    try:
        with _opened(path) as fd:
            return _read(fd, len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class _Held:
    """A database that this process reads beside its writer, and how many snapshots do."""

    __slots__ = ("file", "users")

    def __init__(self, file: io.FileIO) -> None:
        self.file = file
        self.users = 1


# By device and inode. Closing any other descriptor of such a file would drop the locks that SQLite holds on it (POSIX record
# locks belong to the process), so it is not opened another time.
_HELD: dict[tuple[int, int], _Held] = {}


def _of(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


@contextmanager
def _opened(path: Path | str) -> Generator[int]:
    """Open a regular file for reading and yield its descriptor; that of a held database stays open. Raises OSError."""
    held = _HELD.get(_of(Path(path))) if _HELD else None
    if held is not None:
        yield held.file.fileno()
        return
    with open_regular(path) as file:
        yield file.fileno()


def _read(fd: int, size: int) -> bytes:
    """Return the first bytes of a file."""
    os.lseek(fd, 0, os.SEEK_SET)
    return os.read(fd, size)


def _hold(path: Path) -> tuple[int, int] | None:
    """
    Take a lock on a database as every reader has one, or return None where that can't be had.

    As long as it is held, the last of the others that closes the database leaves its log where it is.
    """
    key = _of(path)
    if key in _HELD:
        _HELD[key].users += 1
        return key
    file = open_regular(path)
    try:
        with suppress(ImportError):
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST, os.SEEK_SET)
        found = os.fstat(file.fileno())
        if (found.st_dev, found.st_ino) == key:
            _HELD[key] = _Held(file)
            return key
    except OSError:
        pass
    file.close()
    return None


def _let_go(key: tuple[int, int]) -> None:
    held = _HELD[key]
    held.users -= 1
    if not held.users:
        del _HELD[key]
        held.file.close()


def open_snapshot(path: Path, *, private: bool = False) -> Snapshot:
    """
    Open one consistent state of the database at `path`.

    Args:
        private: Read from a private copy in any case.

    Raises:
        NotAStore: It is no SQLite database.
        StoreDamaged: It is empty, or too short to hold anything.
        StoreError: It can't be opened; the reason is given.
        StoreChanged: It changed all the time while it was copied.
    """
    path = Path(os.path.realpath(path))
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotAStore(f"{path} is not a file", subject=path)
        if found.st_size == 0 and not _size(path, "-wal"):
            raise StoreDamaged(f"{path} is empty (0 bytes): there is nothing to read", subject=path)
        if found.st_size and not is_sqlite(path):
            open_regular(path).close()
            raise NotAStore(f"{path} is not a SQLite database", subject=path)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}", subject=path) from error
    # The second look is for a log that its last writer took away meanwhile.
    for _ in range(2):
        # Before the journal is looked for: a change that begins between the two is then seen by one of them.
        seen = _print(path)
        if private or _hot_journal(path):
            break
        if not _size(path, "-wal") and not _part_of_a_page(path):
            connection = _connect(path, "immutable=1")
            return Snapshot(path, connection, "as it lies, without a lock", seen=seen)
        # What can't be read in this way can perhaps be read in the other, which also says what is wrong with it.
        with suppress(apsw.Error, OSError, StoreError):
            shared = _open_shared(path)
            if shared is not None:
                return shared
    return _open_private(path)


def _open_shared(path: Path) -> Snapshot | None:
    """Return the database as it is beside its writer, or None where it has no log with an index."""
    held = _hold(path)
    if held is None:
        return None
    try:
        # Looked for under the lock: SQLite would make them anew, and nobody would remove them.
        if not _size(path, "-wal") or not is_regular(f"{path}-shm"):
            _let_go(held)
            return None
        connection = _connect(path, "mode=ro")
        try:
            connection.execute("BEGIN")
            # The transaction begins with its first read.
            connection.execute("PRAGMA schema_version").fetchall()
            return Snapshot(path, connection, "in one read transaction, beside its writer", held=held)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        _let_go(held)
        raise


def _open_private(path: Path) -> Snapshot:
    import tempfile

    folder = ""
    try:
        try:
            # The name is known before the folder is there: whenever a signal comes, it is removed.
            folder = os.path.join(tempfile.gettempdir(), f"satchel-{os.urandom(8).hex()}")
            os.mkdir(folder, 0o700)
        except OSError as error:
            folder = ""
            raise StoreError(
                f"there is no folder for a copy of {path}: {error.strerror}; set TMPDIR to one with room for it", subject=path
            ) from error
        _copy(path, Path(folder))
        connection = _taken_in(Path(folder, path.name))
        if not _size(Path(folder, path.name), "-wal"):
            # All is in the one file, which is open: without a name it goes with whoever has it open.
            _remove(folder)
        return Snapshot(path, connection, "from a private copy", folder=folder)
    except apsw.Error as error:
        _remove(folder)
        if no_room(error):
            raise StoreError(
                f"there is no room for a copy of {path} ({_say(error)}); set TMPDIR to a folder with room for it", subject=path
            ) from error
        raise StoreDamaged(f"{path} cannot be opened: {_say(error)}", subject=path) from error
    except BaseException:
        _remove(folder)
        raise


def _taken_in(copy: Path) -> apsw.Connection:
    """Return a connection to a copy whose journal is rolled back, and whose log is taken in if it can be."""
    connection = _connect(copy, "mode=rw")
    try:
        # What a malformed one gives is the reader's business.
        with suppress(apsw.CorruptError):
            connection.execute("PRAGMA schema_version").fetchall()
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if _size(copy, "-wal"):
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return _connect(copy, "immutable=1")


def _remove(folder: str) -> None:
    """Remove a folder with all that is in it; a signal that comes meanwhile waits for that."""
    import shutil

    if folder:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _uri(path: Path) -> str:
    """Return the path for SQLite, every byte that is not plainly itself as %XX."""
    plain = (chr(b) if (chr(b).isalnum() and b < 128) or b in b"/._-" else f"%{b:02X}" for b in os.fsencode(path))
    return "file:" + "".join(plain)


def _connect(path: Path, mode: str) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READWRITE if mode == "mode=rw" else apsw.SQLITE_OPEN_READONLY)
    try:
        connection = apsw.Connection(f"{_uri(path)}?{mode}", flags=flags)
    except apsw.CantOpenError as error:
        raise StoreError(f"{path} cannot be opened: {_say(error)}", subject=path) from error
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    # An order that only its writer knows: rows that stand in it can be counted and read, and no search goes by it.
    connection.collation_needed(lambda db, name: db.create_collation(name, _by_code_points))
    connection.set_busy_timeout(_BUSY_MS)
    connection.pragma("mmap_size", 0)
    connection.pragma("cell_size_check", True)
    return connection


def _by_code_points(one: str, other: str) -> int:
    return (one > other) - (one < other)


def _say(error: apsw.Error) -> str:
    return str(error).removeprefix("SQLError: ") or type(error).__name__


def _part_of_a_page(path: Path) -> int:
    """Return how many bytes the file has beyond its last whole page; 0 unless it was cut."""
    with _opened(path) as fd:
        page = int.from_bytes(_read(fd, _HEADER)[16:18], "big")
        return os.fstat(fd).st_size % (page if page > 1 else 65536)


def _size(path: Path, side: str) -> int:
    """Return the size of a file beside the database; 0 where there is none, or a pipe or folder of that name."""
    try:
        found = os.stat(f"{path}{side}")
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _hot_journal(path: Path) -> bool:
    """Return whether a rollback journal waits that has something in it: one that is kept but spent begins with zeros."""
    try:
        if not is_regular(f"{path}-journal"):
            return False
        with open_regular(f"{path}-journal") as file:
            return any(file.read(8) or b"")
    except FileNotFoundError:
        return False
    except OSError:
        # Whether the database is whole without it, nobody knows.
        return True


def _print(path: Path) -> _Print:
    try:
        with _opened(path) as fd:
            found = os.fstat(fd)
            return _Print(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, _read(fd, _HEADER))
    except OSError as error:
        raise StoreChanged(f"{path} went away while it was read: {error.strerror}", subject=path) from error


def _log_print(path: Path, side: str) -> tuple[int, bytes] | None:
    """Return what must stay the same of a log while it is copied: its inode and its header with the salts."""
    try:
        with open_regular(f"{path}{side}") as file:
            return os.fstat(file.fileno()).st_ino, file.read(32) or b""
    except OSError:
        return None


def _state(path: Path) -> tuple[object, ...]:
    return (_print(path), *(_log_print(path, side) for side in _SIDES if side != "-shm"))


def _copy(path: Path, folder: Path) -> None:
    """Copy the database and its logs, until nothing changed under the copy."""
    for _ in range(_COPY_TRIES):
        # A journal left from an earlier try would be rolled back into a later state of the database.
        for old in folder.iterdir():
            old.unlink()
        before = _state(path)
        try:
            _clone(path, folder / path.name)
        except FileNotFoundError as error:
            raise StoreChanged(f"{path} went away while it was copied", subject=path) from error
        for side in _SIDES:
            if side != "-shm":
                with suppress(FileNotFoundError):
                    _clone(Path(f"{path}{side}"), folder / f"{path.name}{side}")
        if before == _state(path):
            # SQLite would take the rest of a page that was cut for zeros, and perhaps find nothing wrong with it.
            os.truncate(folder / path.name, os.stat(folder / path.name).st_size - _part_of_a_page(folder / path.name))
            return
    raise StoreChanged(f"{path} changes too fast to be copied; try again when its writer rests", subject=path)


def _clone(source: Path, copy: Path) -> None:
    """
    Copy a file, sharing its blocks where the file system can.

    Raises:
        FileNotFoundError: It is gone.
        StoreError: It can't be read, or there is no room for the copy; it says which.
    """
    try:
        if source.exists() and not is_regular(source):
            raise FileNotFoundError(f"{source} is no file")  # A pipe or a folder of that name is no log.
        with _opened(source) as old:
            with _room(source, copy):
                new = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                if not _share(old, new):
                    os.lseek(old, 0, os.SEEK_SET)
                    while data := os.read(old, _CHUNK):
                        with _room(source, copy):
                            _put(new, data)
            finally:
                os.close(new)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{source} cannot be read: {error.strerror or error}", subject=source) from error


def _share(old: int, new: int) -> bool:
    """Let a file have the blocks of another; return whether the file system can."""
    try:
        import fcntl

        fcntl.ioctl(new, _FICLONE, old)
    except (ImportError, OSError):
        return False
    return True


def _put(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


@contextmanager
def _room(source: Path, copy: Path) -> Generator[None]:
    """Say of what fails inside that it is the copy's place, and not the source."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{source} cannot be copied into {copy.parent}: {error.strerror}; set TMPDIR to a folder with room for it",
            subject=source,
        ) from error


def sides(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the files that lie beside the database and belong to it: name and size in bytes."""
    for side in _SIDES:
        with suppress(OSError):
            found = os.stat(f"{path}{side}")
            yield f"{path.name}{side}", found.st_size

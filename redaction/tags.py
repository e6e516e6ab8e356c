"""
The tags in placeholders: equal secrets get equal tags, and none can be turned back into its secret.

A tag is made with a key that never leaves the machine. By default one key serves a user for good, so that the tags of two exports
can be compared by their owner, and by nobody else.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import NoReturn

from satchel.errors import RedactionError, SatchelError, UsageError
from satchel.events import Listener, Problem, ignore

__all__ = ["TagKey", "default_path"]

_SIZE = 32
_DIGITS = 6


class TagKey:
    """A key for tags; neither its `repr` nor an error shows it."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != _SIZE:
            raise ValueError(f"a tag key has {_SIZE} bytes")
        self._key = key

    def __repr__(self) -> str:
        return "TagKey()"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a tag key is not to be copied out of the process")

    def tag(self, value: str) -> str:
        """Return the tag of a secret: 6 hex digits, the first ones of HMAC-SHA256 over its UTF-8 (lone surrogates too)."""
        return hmac.digest(self._key, value.encode("utf-8", "surrogatepass"), "sha256").hex()[:_DIGITS]

    @classmethod
    def fresh(cls) -> TagKey:
        """Return a new key that is kept nowhere: its tags say nothing outside this run."""
        return cls(secrets.token_bytes(_SIZE))

    @classmethod
    def own(cls, *, listen: Listener = ignore) -> TagKey:
        """
        Return the user's key, made if there is none yet: processes that make it at the same time get the same one.

        Raises:
            RedactionError: It can't be read or made, or is damaged.
        """
        path = default_path()
        try:
            if not os.path.lexists(path):
                _make(path)
            return cls(_read(path, listen, RedactionError))
        except OSError as error:
            raise RedactionError(
                f"{path}, the key for tags in placeholders, can't be read or made: {error.strerror or error}; name another one "
                "with --tag-key-file, or use --fresh-tags",
                subject=str(path),
            ) from error

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, listen: Listener = ignore) -> TagKey:
        """
        Return the key in a file of 32 bytes.

        Raises:
            UsageError: There is none, or it has another size.
        """
        try:
            return cls(_read(Path(path), listen, UsageError))
        except OSError as error:
            raise UsageError(f"the key file {path} can't be read: {error.strerror or error}", subject=str(path)) from error


def default_path() -> Path:
    """Return where the user's key is: in `$XDG_STATE_HOME/satchel`, else in `~/.local/state/satchel`."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # A relative path there is to be ignored, by the rules of XDG.
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return base / "satchel" / "tag.key"


def _read(path: Path, listen: Listener, wrong: type[SatchelError]) -> bytes:
    # A pipe by this name must not be waited for.
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise wrong(f"the key file {path} is no regular file", subject=str(path))
        key = file.read(_SIZE + 1)
    if len(key) != _SIZE:
        more = "more than 32" if len(key) > _SIZE else str(len(key))
        raise wrong(
            f"the key file {path} has {more} bytes instead of {_SIZE}: put the right one back; without it a new key is made, and "
            "its tags can't be compared with older ones",
            subject=str(path),
        )
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        message = "others on this machine may read this key, and could then try out which secret a tag stands for: chmod 600 it"
        listen(Problem(str(path), message))
    return key


def _make(path: Path) -> None:
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o600
    )
    try:
        with open(fd, "wb") as file:
            file.write(secrets.token_bytes(_SIZE))
            file.flush()
            os.fsync(fd)
        try:
            # The name appears with the whole key behind it; of several processes one makes it.
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:
            if os.path.lexists(path):
                return
            os.rename(temporary, path)  # A file system without hard links.
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)
    _flush(path.parent)


def _flush(folder: Path) -> None:
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders.
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

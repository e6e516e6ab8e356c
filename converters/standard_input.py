"""
Standard input, kept in a private file: what is read is read more than once.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from satchel.errors import StoreError, UsageError

__all__ = ["PREFIX", "copy_into", "named", "nameless"]

PREFIX = "satchel-stdin-"
"""What the names of folders begin with in which it is kept."""


def copy_into(file: IO[bytes], *, asked: str) -> None:
    """
    Write all of standard input into a file.

    Args:
        asked: The words that asked for it, for errors.

    Raises:
        UsageError: It is a terminal.
        StoreError: It can't be read, or kept.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"{asked} reads standard input, and that is a terminal: pipe a file into it")
    try:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        file.flush()
    except OSError as error:
        raise _failure(error) from error


def _failure(error: OSError) -> StoreError:
    return StoreError(f"standard input can't be kept for reading: {error.strerror or error}", subject="-")


@contextmanager
def nameless(*, asked: str) -> Generator[IO[bytes]]:
    """Give a file that holds standard input and has no name: it is gone with the process, however that ends."""
    try:
        file = tempfile.TemporaryFile(prefix=PREFIX)  # noqa: SIM115
    except OSError as error:
        raise _failure(error) from error
    with file:
        copy_into(file, asked=asked)
        yield file


@contextmanager
def named(*, asked: str) -> Generator[Path]:
    """Give the path of such a file, for other programs that are to look at it."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        path = Path(folder, "stdin")
        with path.open("xb") as file:
            copy_into(file, asked=asked)
        yield path

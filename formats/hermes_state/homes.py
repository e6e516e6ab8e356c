"""Where Hermes keeps its stores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.events import Listener, Problem, ignore

__all__ = ["home", "stores"]


def home(environ: Mapping[str, str]) -> Path:
    """
    Return Hermes' home folder: HERMES_HOME, else ~/.hermes (on Windows %LOCALAPPDATA%\\hermes).

    Where nobody can tell whose home `~` or `~name` is, the path still begins with it, and `stores` finds nothing there.
    """
    if environ.get("HERMES_HOME"):
        return Path(os.path.expanduser(environ["HERMES_HOME"]))
    local = environ.get("LOCALAPPDATA")
    if local and os.path.isdir(os.path.join(local, "hermes")):
        return Path(local, "hermes")
    return Path(os.path.expanduser("~/.hermes"))


def stores(folder: Path, *, listen: Listener = ignore) -> Iterator[tuple[Path, str | None]]:
    """
    Yield the stores under a home folder, each with its profile's name; the main one, None, first.

    A place that can't be looked into is taken for a store: whoever opens it then says why that fails.
    """
    if str(folder).startswith("~"):
        listen(Problem(str(folder), "there is no such home folder, so no store is looked for in it"))
        return
    if _may_be_file(folder / "state.db"):
        yield folder / "state.db", None
    profiles = folder / "profiles"
    found: list[Path] = []
    try:
        found = sorted(profiles.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        listen(Problem(str(profiles), f"it can't be looked into ({error.strerror}): the stores of profiles are left out"))
    for profile in found:
        if _may_be_file(profile / "state.db"):
            yield profile / "state.db", profile.name


def _may_be_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return True

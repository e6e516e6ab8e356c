"""Where Hermes keeps its stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["home", "stores"]


def home(environ: Mapping[str, str]) -> Path:
    """Return Hermes' home folder: HERMES_HOME, else ~/.hermes (on Windows %LOCALAPPDATA%\\hermes)."""
    if environ.get("HERMES_HOME"):
        return Path(environ["HERMES_HOME"]).expanduser()
    local = environ.get("LOCALAPPDATA")
    if local and Path(local, "hermes").is_dir():
        return Path(local, "hermes")
    return Path("~/.hermes").expanduser()


def stores(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the stores under a home folder, each with its profile's name; the main one, None, first."""
    if (folder / "state.db").is_file():
        yield folder / "state.db", None
    profiles = folder / "profiles"
    try:
        found = sorted(profiles.iterdir()) if profiles.is_dir() else []
    except OSError:
        found = []
    for profile in found:
        if (profile / "state.db").is_file():
            yield profile / "state.db", profile.name

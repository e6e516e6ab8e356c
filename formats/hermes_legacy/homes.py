"""Where Hermes leaves transcripts in files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from satchel.formats.hermes_state.homes import home

__all__ = ["HOLD", "homes"]

HOLD = ("sessions",)
"""The folder of a home in which session files are."""


def homes(environ: Mapping[str, str]) -> list[Path]:
    """Return the home folder, and those of its profiles, that have a folder of session files; the main one first."""
    main = home(environ)
    if str(main).startswith("~"):
        return []
    try:
        profiles = sorted((main / "profiles").iterdir())
    except OSError:
        profiles = []
    return [folder for folder in (main, *profiles) if os.path.isdir(folder / "sessions")]

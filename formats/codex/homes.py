"""
Where Codex keeps its sessions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["HOLD", "homes", "places"]

HOLD = ("sessions", "archived_sessions")
"""The folders of a home in which sessions are."""


def places(environ: Mapping[str, str]) -> list[Path]:
    """Return where Codex's home would be: `CODEX_HOME`, else `.codex` in the person's own folder."""
    given = environ.get("CODEX_HOME", "").strip()
    if given:
        return [Path(os.path.expanduser(given))]
    home = environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~")
    return [Path(home, ".codex")]


def homes(environ: Mapping[str, str]) -> list[Path]:
    """Return those of the places that exist and have a folder of sessions, or a history of prompts, as far as can be told."""
    return [place for place in places(environ) if _holds(place)]


def _holds(place: Path) -> bool:
    try:
        return any((place / name).is_dir() for name in HOLD) or (place / "history.jsonl").is_file()
    except ValueError:
        return False
    except OSError:
        return True  # Whoever opens it says why it can't be looked at.

"""
Where Claude Code keeps its sessions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["HOLD", "homes"]

HOLD = ("projects",)
"""The folders of a home in which sessions are."""


def homes(environ: Mapping[str, str]) -> list[Path]:
    """
    Return the folders that exist of those in which Claude Code keeps its sessions by default, as far as can be told.

    `CLAUDE_CONFIG_DIR` names one folder; where no folder of that name is there, several, with commas between. Without it they
    are `~/.claude` and, for some early versions, `claude` in the folder for configuration.
    """
    given = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    if given:
        whole = Path(os.path.expanduser(given))
        names = [given] if _is_folder(whole) else given.split(",")
        folders = [Path(os.path.expanduser(name.strip())) for name in names if name.strip()]
    else:
        home = Path(environ.get("HOME") or environ.get("USERPROFILE") or os.path.expanduser("~"))
        config = environ.get("XDG_CONFIG_HOME")
        folders = [home / ".claude", (Path(config) if config else home / ".config") / "claude"]
    found: dict[str, Path] = {}
    for folder in folders:
        if _is_folder(folder):
            found.setdefault(os.path.realpath(folder), folder)
    return list(found.values())


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except ValueError:
        return False
    except OSError:
        return True  # Whoever opens it says why it can't be looked at.

"""Runs real programs beside the tests: each with a home of its own and without a network."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["environment", "run", "script"]

# What a program needs of its surroundings; homes, tokens and proxies of whoever runs the tests are none of its business.
_KEPT = ("LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")

_OFFLINE = """
import socket
def _refuse(*arguments, **options):
    raise OSError("no network in tests")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = _refuse
"""


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a program whose every home is `home`, which is made."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    homes = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "HERMES_HOME": str(home / "hermes"),
        "HF_HOME": str(home / "huggingface"),
    }
    return kept | homes | {"HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def script(python: Path, source: str, *arguments: str | Path) -> list[str]:
    """Return the command that runs a Python source in a program's interpreter, with no network."""
    return [str(python), "-c", _OFFLINE + source, *map(str, arguments)]


def run(python: Path, source: str, *arguments: str | Path, home: Path, timeout: float = 100) -> Any:
    """
    Run a Python source in a program's interpreter and return the last line it prints, parsed as JSON.

    Args:
        home: The folder that the program takes for its user's home.
        timeout: Seconds after which it is killed.
    """
    done = subprocess.run(
        script(python, source, *arguments),
        env=environment(home),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])

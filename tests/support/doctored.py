"""What `satchel doctor --json` says, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["diagnosis", "only_store", "reasons", "settings"]


def diagnosis(satchel: Callable[..., Any], *words: object, status: int = 0) -> dict[str, Any]:
    """Run the command, see that it ends with a status, and return the whole answer."""
    done = satchel("doctor", "--json", *words)
    assert status == done.status, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def only_store(satchel: Callable[..., Any], *words: object, status: int = 0) -> dict[str, Any]:
    """Return what is said of the one store there is."""
    stores = diagnosis(satchel, *words, status=status)["stores"]
    assert 1 == len(stores)
    return dict(stores[0])


def reasons(store: dict[str, Any]) -> str:
    """Return why sessions may seem missing, a line each."""
    return "\n".join(reason["text"] for reason in store["reasons"])


def settings(home: Path, text: str) -> None:
    """Write Hermes' settings."""
    (home / "config.yaml").write_text(text)

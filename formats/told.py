"""What a store tells of problems: each once, however often its records are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from satchel.events import Listener, Problem

__all__ = ["Told"]


class Told:
    """Tells a listener of each problem once: a loss where anything is lost, else a warning. `lost` is the first loss in words."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self.lost: str | None = None
        self._told: set[tuple[str, str]] = set()

    def __call__(self, where: str, message: str, lost: int = 0) -> None:
        """Tell of a problem, if it is a new one."""
        if (where, message) not in self._told:
            self._told.add((where, message))
            if lost and self.lost is None:
                self.lost = f"{where}: {message}"
            self._listen(Problem(where, message, "loss" if lost else "warning", lost))

    def of(self, path: Path | None) -> Callable[[int, str, int], None]:
        """Return what hears of the lines of a file."""
        return lambda number, message, lost: self(f"{path}:{number}", message, lost)

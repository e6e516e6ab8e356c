"""What `doctor` found, as data: the stores, what is odd about each, and what a person should know."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.timetext import iso_utc
from satchel.views import Figures

if TYPE_CHECKING:
    from satchel.formats.hermes_state.beside import Legacy, Retention
    from satchel.formats.hermes_state.health import Header, Search, WalOnly
    from satchel.processes import Holder

__all__ = ["Checked", "Diagnosis", "OnlyInFiles", "Reason"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a session may seem missing, or what else a person should know; `command` shows or solves it, "" when none does."""

    text: str
    command: str = ""


@dataclass(slots=True)
class OnlyInFiles:
    """
    What files beside a database hold, and it does not.

    `sessions` are not in it at all, with all their messages; of `parts` it lacks some messages. These are None where nobody
    compared them.
    """

    sessions: int
    messages: int
    parts: int | None = None
    messages_of_parts: int | None = None


@dataclass(slots=True, kw_only=True)
class Checked:
    """
    One store as it was found.

    Attributes:
        error: Why nothing can be read from it; None when something can.
        how: In words, how it is read.
        warnings, damage: Problems that were met; `lost` counts what could not be read.
        address: The options that name the store to other commands; "" for the one that they take by themselves.
        only_in_wal: What the database file alone would lack; None when nothing or unknown.
        only_in_files: Of session files: what the database of the same home lacks; None where there is none.
        holders: Processes that have it open; None when the system does not tell.
        unknown: Types and keys of records that the reader does not know, by the agent's version, with how often each was met.
        next_prune: Sessions that Hermes' auto-prune would remove, were it to run now and on.
    """

    path: Path
    format: str
    profile: str | None = None
    named: bool = False
    address: str = ""
    error: str | None = None
    how: str = ""
    schema: int | None = None
    known_schema: int | None = None
    header: Header | None = None
    beside: dict[str, int] = field(default_factory=dict)
    free: int | None = None
    figures: Figures = field(default_factory=Figures)
    kinds: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, dict[str, int]] = field(default_factory=dict)
    orphans: tuple[int, int] | None = None
    missing_parents: int | None = None
    search: Search | None = None
    only_in_wal: WalOnly | None = None
    only_in_files: OnlyInFiles | None = None
    warnings: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    lost: int = 0
    holders: list[Holder] | None = None
    legacy: list[Legacy] = field(default_factory=list)
    retention: Retention | None = None
    last_prune: float | None = None
    next_prune: int = 0
    reasons: list[Reason] = field(default_factory=list)
    commands: list[Reason] = field(default_factory=list)

    @property
    def wal(self) -> int:
        """Bytes in the WAL beside the database."""
        return self.beside.get(f"{self.path.name}-wal", 0)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready keys."""
        kept = self.retention
        figures = self.figures.as_dict()
        return {
            "path": str(self.path),
            "format": self.format,
            "profile": self.profile,
            "error": self.error,
            "read": self.how,
            "schema": self.schema,
            "known_schema": self.known_schema,
            "bytes": self.figures.bytes,
            "beside": self.beside,
            "wal_bytes": self.wal,
            "only_in_wal": self.only_in_wal
            and {"sessions": len(self.only_in_wal.sessions), "messages": self.only_in_wal.messages},
            "only_in_files": self.only_in_files and asdict(self.only_in_files),
            "free_bytes": self.free,
            **{name: figures[name] for name in ("sessions", "live", "archived", "pinned", "messages", "compacted", "rewound")},
            "kinds": self.kinds,
            "unknown": self.unknown,
            "orphan_messages": self.orphans and self.orphans[0],
            "orphan_sessions": self.orphans and self.orphans[1],
            "missing_parents": self.missing_parents,
            "search": self.search and self.search._asdict(),
            "open_in": None if self.holders is None else [{"pid": each.pid, "name": each.name} for each in self.holders],
            "legacy": [
                {"where": each.where, "files": each.files, "bytes": each.bytes, "unknown": each.unknown} for each in self.legacy
            ],
            "retention": kept
            and {
                "config": kept.config and str(kept.config),
                "auto_prune": kept.auto_prune,
                "retention_days": kept.retention_days,
                "vacuum_after_prune": kept.vacuum_after_prune,
                "min_vacuum_interval_days": kept.min_vacuum_interval_days,
                "min_interval_hours": kept.min_interval_hours,
                "auto_archive": kept.auto_archive,
                "last_auto_prune": iso_utc(self.last_prune),
                "would_remove": self.next_prune,
            },
            "damage": self.damage,
            "lost": self.lost,
            "warnings": self.warnings,
            "reasons": [{"text": each.text, "command": each.command} for each in self.reasons],
            "commands": [{"text": each.text, "command": each.command} for each in self.commands],
        }


@dataclass(slots=True)
class Diagnosis:
    """All stores that were looked at, the places where they were looked for, and hints that concern none of them."""

    stores: list[Checked] = field(default_factory=list)
    looked_at: list[Path] = field(default_factory=list)
    hints: list[Reason] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 when a store that was named, or every one, can't be read at all; 3 when something could not be read; else 0."""
        failed = [store for store in self.stores if store.error is not None]
        if any(store.named for store in failed) or (failed and len(failed) == len(self.stores)):
            return 1
        return 3 if failed or any(store.lost for store in self.stores) else 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready keys."""
        return {
            "ok": self.exit_code == 0,
            "stores": [store.as_dict() for store in self.stores],
            "looked_at": [str(path) for path in self.looked_at],
            "hints": [{"text": each.text, "command": each.command} for each in self.hints],
        }

"""
What a session's row in a Hermes store says about the session: the scan's view of it, and why it has a parent.

Facts: docs/formats/hermes-state.md, "Lineage". The store's reader and the JSONL reader share this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from satchel.contracts import Lineage, SessionInfo, Usage
from satchel.errors import JsonError
from satchel.formats.hermes_rows import number, text_of
from satchel.frozen import frozen
from satchel.jsontext import RawText, loads

__all__ = [
    "PARENT_COLUMNS",
    "SHORT_COLUMNS",
    "ParentFacts",
    "Tally",
    "kind_of_child",
    "message_order",
    "public_id",
    "session_info",
]

# What a listing needs of a session's row; the system prompt, by far the largest column, is not among it.
SHORT_COLUMNS = [
    "id",
    "source",
    "title",
    "started_at",
    "ended_at",
    "end_reason",
    "archived",
    "pinned",
    "cwd",
    "git_branch",
    "git_repo_root",
    "model",
    "billing_provider",
    "user_id",
    "chat_id",
    "chat_type",
    "session_key",
    "parent_session_id",
    "model_config",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "actual_cost_usd",
    "estimated_cost_usd",
    "last_activity_at",
    "hidden",
    "display_name",
]
PARENT_COLUMNS = ("end_reason", "ended_at", "session_key")

_ORPHANED = "__orphaned__"
_RESETS = frozenset(["session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired"])


def public_id(stored: Any, *, digits: int = 12) -> str:
    """
    Return the id that a session is known by, given the one its row has: a text is its own.

    Anything else gets a mark that keeps it apart from the text it reads as: "~" and the first hex digits of the SHA-256 of its
    type in SQLite's words, a colon, and its bytes as stored (docs/formats/hermes-state.md, "Ids").
    """
    if type(stored) is str:
        return stored
    from hashlib import sha256

    text = text_of(stored) or ""
    if isinstance(stored, RawText):
        kind, data = b"text:", stored.data
    elif isinstance(stored, bytes):
        kind, data = b"blob:", stored
    else:
        kind, data = _TYPES.get(type(stored), b"null:"), text.encode()
    return f"{text}~{sha256(kind + data).hexdigest()[:digits]}"


_TYPES = {int: b"integer:", float: b"real:"}


def message_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """
    Return what the messages of a session are sorted by: their ids, and for rows that have the same, all they say.

    Values compare as SQLite's do: NULL, numbers, texts by their bytes in UTF-8, BLOBs. After the id come the timestamp and the
    other columns by name.
    """
    names = sorted(row, key=lambda name: (name != "id", name != "timestamp", name))
    return tuple(_rank(row[name]) for name in names)


def _rank(value: Any) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    if isinstance(value, int | float):
        return 1, value
    if isinstance(value, str):
        return 2, value.encode("utf-8", "surrogatepass")
    return (2, value.data) if isinstance(value, RawText) else (3, value)


class Tally(NamedTuple):
    """A session's messages counted by state, and the newest one's time in seconds since the epoch."""

    live: int = 0
    compacted: int = 0
    rewound: int = 0
    newest: float | None = None


@frozen(frozen=True, slots=True, kw_only=True)
class ParentFacts:
    """What the kind of a child depends on, of its parent's row."""

    end_reason: str | None = None
    ended_at: float | None = None
    session_key: str | None = None


def kind_of_child(
    *,
    parent_id: str | None,
    model_config: Mapping[str, Any] | None,
    source: str | None,
    started_at: float | None,
    session_key: str | None,
    parent: ParentFacts | None,
) -> Lineage | None:
    """
    Return why a row of a Hermes store has its parent, or None for a row without one.

    A continuation takes over its parent's `model_config` whole, so a mark counts only when it names the row's own parent. Marks
    go before what is inferred from the parent's end, and branch before delegate before reset.

    Args:
        parent_id: The row's `parent_session_id`.
        model_config: Its `model_config`, parsed; None when it is no JSON object.
        source, started_at, session_key: Its columns of these names.
        parent: The parent's facts; None when its row is missing.
    """
    marks = model_config if isinstance(model_config, Mapping) else {}
    # The migration that marked old subagent runs had no name to give where the parent was gone.
    orphaned = marks.get("_delegate_from") == _ORPHANED
    if not parent_id:
        return "delegate" if orphaned else None
    if marks.get("_branched_from") == parent_id:
        return "branch"
    if marks.get("_delegate_from") == parent_id:
        return "delegate"
    if marks.get("_reset_from") == parent_id:
        return "reset"
    if parent is not None:
        reason = parent.end_reason
        if reason == "branched" and _not_before(started_at, parent.ended_at):
            return "branch"
        if reason == "compression" and source != "tool":
            return "continuation"
        if reason in _RESETS and session_key and session_key == parent.session_key:
            return "reset"
    return "delegate" if orphaned else "child"


def _not_before(moment: float | None, bound: float | None) -> bool:
    return moment is not None and bound is not None and moment >= bound


def session_info(
    row: Mapping[str, Any],
    *,
    format: str,
    store: str,
    profile: str | None = None,
    parent: ParentFacts | None = None,
    tally: Tally | None = None,
    agent: str = "hermes",
    identify: Callable[[Any], str] | None = None,
) -> SessionInfo:
    """
    Return what a row of `sessions` says, in the model's words; columns that are missing count as NULL.

    Args:
        parent: Facts of the parent's row, None when there is none or it is missing.
        tally: The counted messages; None when they were not counted.
        identify: Gives the id of a session from the one in a row; None for the text that it reads as.
    """
    get = row.get
    counts = [get(column) for column in _TOKENS]
    started = number(get("started_at"))
    parent_id = text_of(get("parent_session_id"))
    times = [t for t in (tally.newest if tally else None, number(get("last_activity_at"))) if t is not None]
    cost = number(get("actual_cost_usd"))
    return SessionInfo(
        id=identify(get("id")) if identify else text_of(get("id")) or "",
        format=format,
        agent=agent,
        store=store,
        profile=profile,
        source=text_of(get("source")),
        title=text_of(get("title")),
        started_at=started,
        ended_at=number(get("ended_at")),
        last_active=(max(times) if times else started) if tally else None,
        end_reason=text_of(get("end_reason")),
        live=get("ended_at") is None,
        archived=bool(get("archived")),
        pinned=bool(get("pinned")),
        cwd=text_of(get("cwd")),
        git_branch=text_of(get("git_branch")),
        git_root=text_of(get("git_repo_root")),
        model=text_of(get("model")),
        provider=text_of(get("billing_provider")),
        user=text_of(get("user_id")),
        chat_id=text_of(get("chat_id")),
        chat_type=text_of(get("chat_type")),
        session_key=text_of(get("session_key")),
        parent=parent_id if parent_id is None or identify is None else identify(get("parent_session_id")),
        lineage=kind_of_child(
            parent_id=parent_id,
            model_config=_object(get("model_config")),
            source=text_of(get("source")),
            started_at=started,
            session_key=text_of(get("session_key")),
            parent=parent,
        ),
        messages=tally.live if tally else None,
        compacted=tally.compacted if tally else None,
        rewound=tally.rewound if tally else None,
        tool_calls=_whole(get("tool_call_count")),
        usage=_usage(*map(_whole, counts)) if any(counts) else _NO_USAGE,
        cost=cost if cost is not None else number(get("estimated_cost_usd")),
        extra={column: get(column) for column in ("display_name", "hidden") if get(column)},
    )


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_NO_USAGE = Usage()


def _usage(given: int, made: int, read: int, written: int, reasoning: int) -> Usage:
    return Usage(input=given, output=made, cache_read=read, cache_write=written, reasoning=reasoning)


def _whole(value: Any) -> int:
    return value if type(value) is int else int(number(value) or 0)


def _object(value: Any) -> dict[str, Any] | None:
    """Return a column's JSON object, or None where it holds none."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    try:
        parsed = loads(value)
    except JsonError:
        return None
    return parsed if isinstance(parsed, dict) else None

"""
The layout of a line: which key holds which rows. The reader and the writer share it.

A line is compact JSON, except that tab characters stand before and after each message row. A tab inside a JSON string is always
escaped, so a line can be cut at its tabs into its rows without being parsed.
"""

from __future__ import annotations

__all__ = [
    "FEATURES",
    "KNOWN_TABLES",
    "RESERVED",
    "TABLE_KEYS",
    "VERSION",
    "pointer",
]

VERSION = 1
"""Of the `satchel` key; a reader refuses a newer one."""

RESERVED = frozenset({"messages", "satchel", "last_active"})
"""Keys of a line that are no columns; a column of such a name goes to `satchel.columns`."""

TABLE_KEYS = {"session_model_usage": "usage", "gateway_routing": "routing"}
"""Tables with a key of their own under `satchel`, as lists of rows."""

KNOWN_TABLES = frozenset(
    {
        "async_delegations",
        "compression_locks",
        "gateway_heartbeats",
        "gateway_hygiene_state",
        "conversation_generations",
        "session_turn_leases",
        "telegram_dm_topic_bindings",
        "telegram_dm_topic_mode",
    }
)
"""Tables of Hermes that go under `satchel.tables`; all others go under `satchel.unknown`."""

FEATURES = (
    "hidden",
    "usage",
    "routing",
    "meta",
    "tables",
    "unknown",
    "carried",
    "segments",
    "exact",
    "columns",
    "orphan",
    "dialect",
    "native",
    "native_parts",
)
"""Every key that may stand under `satchel` besides `v`; absent ones are empty."""


def pointer(*steps: str | int) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)

"""
The errors that Satchel raises, as one tree; each class carries the exit status of a run that ends with it.

    SatchelError                1
    ├── UsageError              2
    ├── NotFound                1
    │   └── AmbiguousId         1
    ├── StoreError              1
    │   ├── NotAStore           1
    │   ├── StoreDamaged        1
    │   └── StoreChanged        1
    ├── TargetError             1
    │   └── TargetExists        1
    ├── ManifestError           1
    ├── JsonError               1
    ├── RedactionError          1
    └── PluginError             1

A warning is never an exception: it is a `satchel.events.Problem`.
"""

from __future__ import annotations

__all__ = [
    "AmbiguousId",
    "JsonError",
    "ManifestError",
    "NotAStore",
    "NotFound",
    "PluginError",
    "RedactionError",
    "SatchelError",
    "StoreChanged",
    "StoreDamaged",
    "StoreError",
    "TargetError",
    "TargetExists",
    "UsageError",
]


class SatchelError(Exception):
    """
    Any failure that Satchel explains itself.

    The text is one sentence for the user: what failed, where, and what to do. `subject` is the object it concerns (a path, a
    session id, an option), or None.
    """

    exit_code = 1

    def __init__(self, message: str, *, subject: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.subject = subject


class UsageError(SatchelError):
    """The command or call cannot mean anything: an empty value, a contradiction, a missing argument."""

    exit_code = 2


class NotFound(SatchelError):
    """A session, file or store that was named does not exist."""


class AmbiguousId(NotFound):
    """An id prefix fits several sessions."""


class StoreError(SatchelError):
    """A store could not be read."""


class NotAStore(StoreError):
    """The path holds nothing that any reader knows."""


class StoreDamaged(StoreError):
    """The store is broken so badly that nothing can be read from it."""


class StoreChanged(StoreError):
    """The store changed while it was read, so what was read is not one state; reading it again may succeed."""


class TargetError(SatchelError):
    """The output could not be written."""


class TargetExists(TargetError):
    """The output is there already and was not to be overwritten."""


class ManifestError(SatchelError):
    """A manifest is missing, unsealed or not one of ours."""


class JsonError(SatchelError):
    """Bytes that were to be JSON are not."""


class RedactionError(SatchelError):
    """Secrets could not be removed for certain, so nothing is written; neither its text nor its cause holds any of them."""


class PluginError(SatchelError):
    """A plug-in or an optional library is missing or broken."""

"""
Satchel carries AI-agent sessions: it reads them from where agents leave them, converts them, and guards them.

Everything public is here, imported when it is first used.
"""

from __future__ import annotations

# As `typing` has it, which takes long to load; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.contracts import Record, SessionInfo, Store
    from satchel.errors import SatchelError
    from satchel.formats.model import Message, Note
    from satchel.library import convert, make_redactor, make_selection, open, redact, redact_file, scan, verify
    from satchel.redaction.policy import Policy, make_policy
    from satchel.selection import Selection

__all__ = [
    "Message",
    "Note",
    "Policy",
    "Record",
    "SatchelError",
    "Selection",
    "SessionInfo",
    "Store",
    "__version__",
    "convert",
    "make_policy",
    "make_redactor",
    "make_selection",
    "open",
    "redact",
    "redact_file",
    "scan",
    "verify",
]

__version__ = "0.1.0"

_WHERE = {
    "Message": "satchel.formats.model",
    "Note": "satchel.formats.model",
    "Policy": "satchel.redaction.policy",
    "Record": "satchel.contracts",
    "SatchelError": "satchel.errors",
    "Selection": "satchel.selection",
    "SessionInfo": "satchel.contracts",
    "Store": "satchel.contracts",
    "convert": "satchel.library",
    "make_policy": "satchel.redaction.policy",
    "make_redactor": "satchel.library",
    "make_selection": "satchel.library",
    "open": "satchel.library",
    "redact": "satchel.library",
    "redact_file": "satchel.library",
    "scan": "satchel.library",
    "verify": "satchel.library",
}


def __getattr__(name: str) -> object:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module 'satchel' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(where), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

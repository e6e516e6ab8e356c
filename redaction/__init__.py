"""
Redaction: removing secrets from the native records of a session, before anything is made from them.

What a redactor promises is in `satchel.contracts`; everything else in this package is a way to keep that promise.
"""

from __future__ import annotations

from satchel.contracts import Redactor

__all__ = ["Redactor"]

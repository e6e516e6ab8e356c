"""
Why something went: what a rule is about and what it asks of a text, in words, without a character of what it found.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from satchel.redaction.policy import Policy

__all__ = ["described"]

_OTHERS = {
    "known-secret": "a value that --secrets-from names",
    "home-user": "the name of a user, known from a home directory",
    "email": "an e-mail address",
    "host": "the name of a machine",
    "phone": "a telephone number",
    "ip": "a public IP address",
    "password": "a value that stands under the name of a password",
    "secret": "a value that stands under the name of a secret",
    "token": "a value that stands under the name of a token",
    "api-key": "a value that stands under the name of an API key",
    "private-key": "a value that stands under the name of a private key",
    "pin": "digits that stand under the name of a one-time code or PIN",
    "named": "a value that stands under a name that may be a secret's, and looks drawn by lot",
}
_SHOWN = 6


@cache
def _builtin() -> Mapping[str, Any]:
    text = resources.files("satchel.redaction").joinpath("rules.toml").read_text("utf-8")
    return {entry.get("id", ""): entry for entry in tomllib.loads(text).get("rule", [])}


def described(rule: str, policy: Policy) -> str:
    """Return what a rule is about, by which literals it is found, and which tests what it finds has passed."""
    entry = _builtin().get(rule, {})
    known = next((found for found in policy.rules.rules if found.id == rule), None)
    about = str(entry.get("about") or getattr(known, "about", "") or _OTHERS.get(rule, "") or rule)
    literals = list(known.literals if known is not None else entry.get("literals", ()))
    checks = [str(check) for check in entry.get("checks", ())]
    parts = [about]
    if literals:
        more = ", …" if len(literals) > _SHOWN else ""
        parts.append(f"found by {', '.join(repr(literal) for literal in literals[:_SHOWN])}{more}")
    if checks:
        parts.append(f"passed the tests {', '.join(checks)}")
    return "; ".join(parts)

"""
Values that a user knows to be secret: read from the files they stand in, or from the environment, and removed wherever they
occur.

No pattern can miss an exact value. What is taken from a file that holds other things too (a `.env`, say) is only what may be a
secret: to remove "true" or "8080" everywhere would leave nothing to read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from satchel import jsontext
from satchel.errors import JsonError, UsageError
from satchel.redaction.checks import entropy, is_placeholder
from satchel.redaction.given_files import text_of_file

__all__ = ["KIND", "Secret", "from_environment", "from_file", "from_hermes", "is_sensitive"]

KIND = "known-secret"
"""What stands in the placeholder of such a value, where no rule knows better."""

_SHORTEST = 6
_HOLDS = re.compile(
    r"(?:^|_)(?:token|secret|passw(?:or)?d|passwd|pwd|pass|passphrase|api_?key|apikey|key|credentials?|auth|bearer|private|cookie|dsn|pat)"
    r"(?:_|$|\d)"
)
_OTHER = re.compile(
    r"_(?:id|name|file|path|dir|type|length|len|size|count|limit|ttl|header|policy|endpoint|hash|host|port|user|username|region|version"
    r"|sock|socket|expiry|expires|method|provider|mode|enabled|program|command|cmd|algorithm|format)$"
    r"|(?:^|_)(?:public|primary|foreign|sort|partition|max|min|num)_"
)
_USERINFO = re.compile(r"[a-z][a-z0-9+.-]{1,40}://([^\s/:@]{0,200}):([^\s/@]{1,200})@")
_LINE = re.compile(r"\s*(?:export\s+|set\s+)?([A-Za-z_][A-Za-z0-9_.-]{0,120})\s*[=:]\s*(.*?)\s*")
_NETRC = re.compile(r"\b(?:password|account)\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Secret:
    """A value to remove; its `repr` shows none of it."""

    value: str = field(repr=False)
    kind: str = KIND


def is_sensitive(name: str) -> bool:
    """Return whether what a name holds is likely a secret: `GITHUB_TOKEN`, `dbPassword`; not `TOKEN_LIMIT`, `SSH_AUTH_SOCK`."""
    words = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return _HOLDS.search(words) is not None and _OTHER.search(words) is None


def from_environment(environ: Mapping[str, str] = os.environ) -> list[Secret]:
    """Return what environment variables with sensitive names hold."""
    return list(_unique(_of_pairs(environ.items())))


def from_hermes(environ: Mapping[str, str] = os.environ) -> list[Secret]:
    """Return what Hermes keeps in its home: `.env`, `auth.json`, the profiles' too. Raises UsageError when there is none."""
    home = Path(os.path.expanduser(environ.get("HERMES_HOME") or "~/.hermes"))
    folders = [home, *sorted(path for path in home.glob("profiles/*") if path.is_dir())]
    files = [path for folder in folders for path in (folder / ".env", folder / "auth.json") if path.is_file()]
    if not files:
        raise UsageError(f"--secrets-from hermes: there is no .env and no auth.json in {home}", subject=home)
    return [secret for file in files for secret in from_file(file)]


def from_file(path: str | os.PathLike[str]) -> list[Secret]:
    """
    Return the secrets of a file: JSON, netrc, lines `NAME=value`, or a value a line, whichever it is.

    Raises:
        UsageError: It can't be read, or nothing in it can be a secret; the message shows none of it.
    """
    found = list(_unique(_of_text(text_of_file(path))))
    if not found:
        raise UsageError(f"nothing in {os.fspath(path)} can be a secret (of {_SHORTEST} characters at least)", subject=path)
    return found


def _unique(values: Iterable[str]) -> Iterator[Secret]:
    for value in dict.fromkeys(values):
        yield Secret(value)


def _of_text(text: str) -> Iterator[str]:
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            yield from _of_json("", jsontext.loads(text), listed=True)
            return
        except JsonError:
            pass
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";", "//"))]
    if any(re.match(r"\s*(?:machine\s+\S|default\b)", line) for line in lines):
        yield from (match[1] for match in _NETRC.finditer(text) if len(match[1]) >= _SHORTEST)
        return
    pairs = [_LINE.fullmatch(line) for line in lines]
    if any(pairs):
        yield from _of_pairs((pair[1], _unquoted(pair[2])) for pair in pairs if pair)
        # What is no pair among pairs (a bare token, a section's name) is taken where it can't be a word.
        yield from (line.strip() for line, pair in zip(lines, pairs, strict=True) if not pair and _looks_random(line.strip()))
        return
    for line in lines:
        value = line.strip()
        if len(value) >= _SHORTEST:
            yield value


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"', "`"):
        end = value.find(value[0], 1)
        return value[1:end] if end > 0 else value[1:]
    # A comment after a value that is not quoted begins with a blank.
    return re.split(r"\s#", value, maxsplit=1)[0].strip().rstrip(",;")


def _of_pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in pairs:
        for _, password in _USERINFO.findall(value):
            for form in (password, unquote(password)):
                if _fit(form):
                    yield form
        if _fit(value) and (is_sensitive(name) or _looks_random(value)):
            yield value


def _of_json(name: str, value: Any, *, listed: bool, within: str = "") -> Iterator[str]:
    """
    Yield the secrets of parsed JSON.

    Args:
        name: The key that the value stands under.
        listed: Nothing but lists is around, so each of its texts is meant.
        within: The nearest key around it that says that there are secrets inside.
    """
    if isinstance(value, str):
        if listed and len(value) >= _SHORTEST:
            yield value
        else:
            yield from _of_pairs([(name, value), *([(within, value)] if within and _OTHER.search(f"_{name}") is None else [])])
    elif isinstance(value, dict):
        inside = "secret" if is_sensitive(name) or is_sensitive(name.removesuffix("s")) else within
        for key, item in value.items():
            yield from _of_json(key, item, listed=False, within=inside)
    elif isinstance(value, list):
        inside = "secret" if is_sensitive(name.removesuffix("s")) else within
        for item in value:
            yield from _of_json(name, item, listed=listed, within=inside)


def _fit(value: str) -> bool:
    """Return whether a value may be removed everywhere: long enough, and no placeholder, path, flag or number."""
    if len(value) < _SHORTEST or is_placeholder(value) or (value.isdigit() and len(value) < 12):
        return False
    if value.lower() in ("enabled", "disabled", "default", "localhost", "password", "production", "development"):
        return False
    return not re.match(r"(?:[~.]{0,2}/|[A-Za-z]:[\\/]|https?://[^\s@]*$)", value)


def _looks_random(value: str) -> bool:
    """Return whether nobody would write a value as a word: long, digits among letters, characters spread."""
    if len(value) < 16 or re.search(r"\s", value):
        return False
    kinds = sum(any(test(c) for c in value) for test in (str.isdigit, str.islower, str.isupper))
    return kinds >= 2 and any(c.isdigit() for c in value) and entropy(value) >= 3.2 and "://" not in value

"""
What a user wants removed and what not: rules of their own, rules off, values to spare, values to remove, packs of personal data.

A policy is made once, by `make_policy`, out of options and a file; everything it names is read then, and a fault in any of it
is an error, since a redaction that left out half of what was asked is worse than none. Values are in memory only: no `repr`, no
message and no digest shows one.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from satchel.errors import PluginError, UsageError
from satchel.redaction import linting, personal, rules
from satchel.redaction.given_files import text_of_file
from satchel.redaction.known import KIND, Secret, from_environment, from_file, from_hermes
from satchel.redaction.names import KINDS
from satchel.redaction.personal import PACKS
from satchel.redaction.placeholders import PLACEHOLDER
from satchel.redaction.spans import STRONG

__all__ = ["LEVELS", "Allowed", "Policy", "config_path", "make_policy", "user_rules"]

LEVELS = ("tokens", "default", "strict")
"""What is removed: what is surely a secret; whatever the rules find; that, personal data and media too."""

_LONGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Values that stay: as they are, by the placeholder that stood for them, by pattern, or by the rule that finds them."""

    values: frozenset[str] = field(default=frozenset(), repr=False)
    tags: frozenset[tuple[str, str]] = frozenset()
    patterns: tuple[re.Pattern[str], ...] = field(default=(), repr=False)
    rules: frozenset[str] = frozenset()

    def __or__(self, more: Allowed) -> Allowed:
        """Return both."""
        return Allowed(
            values=self.values | more.values,
            tags=self.tags | more.tags,
            patterns=self.patterns + more.patterns,
            rules=self.rules | more.rules,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What is removed. `Policy()` is the built-in rules and nothing else.

    Attributes:
        rules: The rules in force, a user's own among them.
        level: One of `LEVELS`.
        off: Kinds that are not removed, whether a rule or something else finds them.
        allowed: Values that stay.
        secrets: Values that go wherever they stand, in encoded forms too.
        packs: Names of the packs of personal data that are on (`satchel.redaction.personal.PACKS`).
        people, hosts: Names of users and machines that these packs know from the start.
        drop_media: Pictures, fonts and sounds give way to a note of their kind and size.
        skeleton: Nothing is searched for: every text goes, and the structure stays.
    """

    rules: rules.RuleSet = field(default_factory=rules.builtin)
    level: str = "default"
    off: frozenset[str] = frozenset()
    allowed: Allowed = field(default_factory=Allowed)
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    packs: tuple[str, ...] = ()
    people: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = field(default=(), repr=False)
    drop_media: bool = False
    skeleton: bool = False

    def spares(self, rule: str, value: str, tag: Callable[[str], str]) -> bool:
        """
        Return whether a value stays though a rule found it.

        Args:
            tag: Gives the tag of a value; it is asked only when tags are among what is allowed.
        """
        if rule in self.off:
            return True
        allowed = self.allowed
        if value in allowed.values or any(len(value) <= _LONGEST and p.fullmatch(value) for p in allowed.patterns):
            return True
        return bool(allowed.tags) and (rule, tag(value)) in allowed.tags

    @property
    def digest(self) -> str:
        """SHA-256 of what the policy is, lower-case hex; of values and patterns that stay or go it takes the number only."""
        facts = (
            self.rules.version,
            self.rules.digest,
            self.level,
            sorted(self.off),
            len(self.allowed.values) + len(self.allowed.tags),
            len(self.allowed.patterns),
            len(self.secrets),
            sorted(self.packs),
            len(self.people),
            len(self.hosts),
            self.drop_media,
            self.skeleton,
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Return what a report says of the policy: numbers and names, JSON-ready."""
        return {
            "version": self.rules.version,
            "digest": self.digest,
            "rules": len(self.rules.rules),
            "level": self.level,
            "off": sorted(self.off),
            "allowed": len(self.allowed.values) + len(self.allowed.tags) + len(self.allowed.patterns),
            "secrets": len(self.secrets),
            "packs": sorted(self.packs),
            "drop_media": self.drop_media,
            "skeleton": self.skeleton,
        }


# ------------------------------------------------------------------------------------------------------------ making


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the user's own policy is: redact.toml in the folder of Satchel's settings."""
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home, "satchel", "redact.toml")


_KEYS = {"level", "rules", "no-rule", "allow", "secrets-from", "also", "people", "hosts", "drop-media", "rule", "version"}


def make_policy(
    *,
    rules_from: Iterable[str | os.PathLike[str]] = (),
    no_rule: Iterable[str] = (),
    allow: Iterable[str | os.PathLike[str]] = (),
    secrets_from: Iterable[str | os.PathLike[str]] = (),
    also: Iterable[str] = (),
    drop_media: bool = False,
    skeleton: bool = False,
    level: str | None = None,
    config: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Policy:
    """
    Make a policy of what is given and what the user's file says; lists are joined, and what is given wins.

    Args:
        rules_from: Files of rules, in the form of the built-in ones; of two rules of one id the later one counts.
        no_rule: Rules that are off, by id.
        allow: Files of what stays: a value, a placeholder, `regex:…` or `rule:…` a line.
        secrets_from: Files of values to remove, "env" for the environment's, or "hermes" for those of Hermes' home.
        also: Packs of personal data, or "all".
        config: The policy's file; by default redact.toml of Satchel's settings, where there is one. `os.devnull` for none.

    Raises:
        UsageError: Something of it can't be read, or makes no sense.
        PluginError: A plug-in's rules are broken.
    """
    path = Path(os.path.expanduser(config)) if config is not None else config_path(environ)
    said = _config(path, needed=config is not None)
    base = path.parent

    def listed(key: str, given: Iterable[str | os.PathLike[str]], *, words: tuple[str, ...] | None = ()) -> list[str]:
        """Return what the file lists, paths as seen from it, and what is given."""
        entries = _texts(said, key, path)
        if words is not None:
            entries = [entry if entry in words else str(base / os.path.expanduser(entry)) for entry in entries]
        return [*entries, *(os.path.expanduser(item) for item in given)]

    found = rules.builtin()
    for name, text in _of_plugins():
        more = _parsed(text, where=name)
        clash = found.ids & more.ids
        if clash:
            raise PluginError(f"the rule {min(clash)!r} of {name} has the id of another one; uninstall it, or give it another id")
        found = found + more
    for file in listed("rules", rules_from):
        found = found + user_rules(file)
    if said.get("rule"):
        found = found + _parsed(text_of_file(path), where=str(path))
    allowed = Allowed()
    for file in listed("allow", allow):
        allowed = allowed | _allowed(file)
    secrets: dict[str, Secret] = {}
    for source in listed("secrets-from", secrets_from, words=("env", "hermes")):
        taken = (
            from_environment(environ) if source == "env" else from_hermes(environ) if source == "hermes" else from_file(source)
        )
        for secret in taken:
            secrets.setdefault(secret.value, secret)
    chosen = level or str(said.get("level", "default"))
    if chosen not in LEVELS:
        raise UsageError(f"the level is {' or '.join(LEVELS)}, not {chosen!r}", subject=chosen)
    strict = chosen == "strict"
    packs = _packs(listed("also", also, words=None), strict=strict)
    off = frozenset([*listed("no-rule", no_rule, words=None), *allowed.rules])
    unknown = off - found.ids - frozenset(KINDS) - personal.KINDS - {KIND}
    if unknown:
        raise UsageError(f"there is no rule {min(unknown)!r}", subject=min(unknown))
    if chosen == "tokens":
        off |= frozenset(KINDS) | {rule.id for rule in found.rules if rule.strength < STRONG}
    return Policy(
        rules=found.without(off & found.ids),
        level=chosen,
        off=off,
        allowed=allowed,
        secrets=tuple(secrets.values()),
        packs=packs,
        people=_people(_texts(said, "people", path), environ) if "home-user" in packs else (),
        hosts=tuple(_texts(said, "hosts", path)) if "hosts" in packs else (),
        drop_media=drop_media or strict or _flag(said, "drop-media", path),
        skeleton=skeleton,
    )


def _people(names: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return names that the user gave, and the user's own."""
    own = (environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME"))
    return tuple(dict.fromkeys([*names, *filter(None, own)]))


def _packs(names: Sequence[str], *, strict: bool) -> tuple[str, ...]:
    wanted = {name for entry in names for name in entry.split(",") if name}
    unknown = wanted - set(PACKS) - {"all"}
    if unknown:
        raise UsageError(f"--also takes {', '.join(PACKS)} or all, not {min(unknown)!r}", subject=min(unknown))
    return tuple(name for name in PACKS if strict or "all" in wanted or name in wanted)


def _config(path: Path, *, needed: bool) -> dict[str, Any]:
    if os.fspath(path) == os.devnull or (not needed and not path.exists()):
        return {}
    try:
        said = tomllib.loads(text_of_file(path))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", subject=path) from error
    unknown = set(said) - _KEYS
    if unknown:
        raise UsageError(
            f"{path} has a key that is not known: {min(unknown)}; there are: {', '.join(sorted(_KEYS))}", subject=path
        )
    return said


def _texts(said: Mapping[str, Any], key: str, path: Path) -> list[str]:
    value = said.get(key, [])
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) and entry for entry in entries):
        raise UsageError(f"{path}: {key} is a list of texts", subject=path)
    return list(entries)


def _flag(said: Mapping[str, Any], key: str, path: Path) -> bool:
    value = said.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{path}: {key} is true or false", subject=path)
    return value


def user_rules(path: str | os.PathLike[str]) -> rules.RuleSet:
    """Read and check a user's file of rules. Raises UsageError that names the rule and what is wrong with it."""
    return _parsed(text_of_file(path), where=os.fspath(path))


def _parsed(text: str, *, where: str) -> rules.RuleSet:
    found = rules.parse(text, where=where)
    for rule in found.rules:
        for pattern in (rule.pattern, rule.left):
            why = linting.fault(pattern.pattern, flags=re.IGNORECASE if rule.fold else 0) if pattern is not None else ""
            if why:
                raise UsageError(f"{where}: the pattern of the rule {rule.id} {why}", subject=rule.id)
    return found


def _of_plugins() -> list[tuple[str, str]]:
    """Return the rules that plug-ins bring: who, and their text."""
    found: list[tuple[str, str]] = []
    for point in sorted(metadata.entry_points(group="satchel.rules"), key=lambda point: point.name):
        origin = f"{point.name} of {point.dist.name if point.dist else '?'}"
        try:
            brought = point.load()
            text = brought() if callable(brought) else brought
        except Exception as error:
            raise PluginError(
                f"the rules {origin} can't be loaded: {type(error).__name__}: {error}", subject=point.name
            ) from error
        if not isinstance(text, str):
            raise PluginError(f"the rules {origin} are no text (TOML), and no function that returns it", subject=point.name)
        found.append((origin, text))
    return found


def _allowed(path: str) -> Allowed:
    values: set[str] = set()
    tags: set[tuple[str, str]] = set()
    patterns: list[re.Pattern[str]] = []
    ids: set[str] = set()
    for number, line in enumerate(text_of_file(path).splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if entry.startswith("rule:"):
            ids.add(entry[5:].strip())
        elif entry.startswith("regex:"):
            patterns.append(_pattern(entry[6:].strip(), f"{path}:{number}"))
        elif mask := PLACEHOLDER.fullmatch(entry):
            tags.add((mask[1], mask[2]))
        else:
            values.add(entry.removeprefix("value:").strip() if entry.startswith("value:") else entry)
    return Allowed(values=frozenset(values), tags=frozenset(tags), patterns=tuple(patterns), rules=frozenset(ids))


def _pattern(source: str, where: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(source)
    except re.error as error:
        raise UsageError(f"{where}: the pattern is none: {error.msg}", subject=where) from None
    why = linting.fault(source)
    if why:
        raise UsageError(f"{where}: the pattern {why}", subject=where)
    if pattern.fullmatch("") or pattern.fullmatch("q7Zk0pXw93LmT"):
        raise UsageError(f"{where}: the pattern fits everything, so that nothing would be removed", subject=where)
    return pattern

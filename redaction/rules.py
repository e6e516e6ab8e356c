"""
Rules as data: what secrets look like. The built-in ones are in rules.toml beside this module; a user's own have the same form.

A rule is found by its literals. Where one stands, the rule's pattern is matched: right there, or, with `left`, from what stands
directly before it. So no pattern is ever searched for in a text, and the cost of a rule that has no literal in it is nothing.

Three words stand for longer patterns in a rule's own: `<is>` is what stands between a name and its value in any language,
`<near>` what stands between the name of a service and a value (a word like key or token, then `<is>`), `<line>` the end of a
line, as such or as `\\n`, and what listings, diffs and quotations put before the next one. All three are bounded.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from satchel.errors import UsageError
from satchel.redaction.checks import Check, check
from satchel.redaction.spans import MEDIUM, STRONG, WEAK

__all__ = ["Rule", "RuleSet", "builtin", "parse"]

_STRENGTHS = {"strong": STRONG, "medium": MEDIUM, "weak": WEAK}
_LEFT = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    One kind of secret.

    Attributes:
        id: The kind, as it stands in placeholders and reports: lower-case letters, digits, dashes.
        literals: What every match holds; where one of them is found, the rule is tried.
        fold: Literals and pattern are the same in small and capital letters.
        pattern: What is matched: what stands from the literal on, behind `left` if there is one. Every quantifier is bounded.
        left: What stands directly before the literal and belongs to the match, or None; at most 128 characters.
        search: The pattern is looked for in the whole text, once a literal is in it: for those that begin with common characters.
        edge: No letter, digit or underscore stands before the match.
        group: What of the match is the secret: "secret" where the pattern names a group so, else all of it.
        each: What is found again and again within that secret, if only parts of it are to go: the values of a block of lines.
        checks: Tests of the secret, or of each part.
        strength: What a strong rule finds is removed everywhere in the session, and no output may hold it.
        about: What it is, for people.
        examples: Templates of texts it finds something in; the tests fill them.
        counterexamples: Templates of texts it leaves alone.
        shared: Other rules that find the examples as well.
    """

    id: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    fold: bool = False
    left: re.Pattern[str] | None = None
    search: bool = False
    edge: bool = True
    group: str | int = 0
    each: re.Pattern[str] | None = None
    checks: tuple[Check, ...] = ()
    strength: int = STRONG
    about: str = ""
    examples: tuple[str, ...] = ()
    counterexamples: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()
    gate: re.Pattern[bytes] | None = None
    """What stands near the literal in serialised text, if only there a match can be; in JSON or not."""

    @property
    def solid(self) -> bool:
        """Whether what is found is one unbroken run of characters that begins with the literal: a token that needs no context."""
        alone = self.group == 0 and self.each is None and self.left is None and not self.search and not self.fold
        return alone and re.search(r"\\s| |\\n|\[\^", self.pattern.pattern) is None

    def parts(self, match: re.Match[str]) -> Iterator[tuple[int, int]]:
        """Return what of a match is secret, as positions in its text; the checks are not made yet."""
        start, end = match.span(self.group)
        if start < 0:  # the alternative that matched has no such group
            start, end = match.span()
        if self.each is None:
            yield start, end
            return
        for part in self.each.finditer(match.string, start, end):
            yield part.span(1 if part.re.groups else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """Rules in force; `digest` is the SHA-256 of what they are, lower-case hex."""

    rules: tuple[Rule, ...]
    version: str
    digest: str
    ids: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", frozenset(rule.id for rule in self.rules))

    def __add__(self, more: RuleSet) -> RuleSet:
        """Return both; of two rules of one id the later one counts."""
        taken = {rule.id: rule for rule in (*self.rules, *more.rules)}
        digest = hashlib.sha256(f"{self.digest}+{more.digest}".encode()).hexdigest()
        return RuleSet(rules=tuple(taken.values()), version=f"{self.version}+{more.version}", digest=digest)

    def without(self, ids: Iterable[str]) -> RuleSet:
        """Return the set without the rules of these ids. Raises UsageError for one that is not there."""
        off = set(ids)
        if off - self.ids:
            raise UsageError(f"there is no rule {min(off - self.ids)!r}")
        digest = hashlib.sha256(f"{self.digest}-{sorted(off)}".encode()).hexdigest() if off else self.digest
        return RuleSet(rules=tuple(r for r in self.rules if r.id not in off), version=self.version, digest=digest)


def builtin() -> RuleSet:
    """Return the rules that come with Satchel."""
    return parse(resources.files("satchel.redaction").joinpath("rules.toml").read_text("utf-8"), where="rules.toml")


_KEYS = {
    "id", "about", "literals", "pattern", "gate", "near", "fold", "left", "search", "edge", "each", "checks", "strength",
    "examples", "counterexamples", "shared",
}  # fmt: skip
_ESCAPED = re.compile(r"[^\x20-\x7e]|[\"\\\\]")
_IS = r"""["'`\\\])]{0,4}[ \t]{0,12}(?:=>|:=|==|[=:]|is\b|->)[ \t]{0,12}(?:["'`(\\]{0,4})"""
_NEAR = (
    r"(?i:(?:[^\n]{0,40}?|[^\n]{0,24}\n[^\n]{0,24}?)(?:key|token|secret|passw(?:or)?d|pwd|auth|credentials?|apikey)"
    r"[\w.\-]{0,16}" + _IS + ")"
)
_LINE = (
    r"""(?>(?:[ \t"'`,+|\u2502]{0,80}(?:\\?[\r\n]{1,4}|\\{1,4}[rn])){1,6})[ \t]{0,24}"""
    r"""(?:(?:[\w./\-]{1,80}[:\-])?[0-9]{1,6}[:|\t\u2192\-] ?|[+>|*#/\u2502]{1,3}|-(?!-))?[ \t"'`,+]{0,24}"""
)
_WORDS = {"<is>": _IS, "<near>": _NEAR, "<line>": _LINE}
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def parse(text: str, *, where: str) -> RuleSet:
    """
    Parse rules from TOML (docs/redaction-rules.md).

    Raises:
        UsageError: It is no TOML, or a rule has not the form it should; the message names the rule.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}", subject=where) from error
    rules = tuple(_rule(entry, where) for entry in data.get("rule", []))
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise UsageError(f"{where} has two rules {rule.id!r}", subject=rule.id)
        seen.add(rule.id)
    return RuleSet(rules=rules, version=str(data.get("version", "0")), digest=hashlib.sha256(text.encode()).hexdigest())


def _rule(entry: Mapping[str, Any], where: str) -> Rule:
    name = str(entry.get("id", ""))

    def wrong(what: str) -> UsageError:
        return UsageError(f"{where}: the rule {name or '(without id)'} {what}", subject=name)

    if not _ID.fullmatch(name):
        raise wrong("needs an id of small letters, digits and dashes")
    unknown = set(entry) - _KEYS
    if unknown:
        raise wrong(f"has a key that is not known: {min(unknown)}")
    literals = entry.get("literals", [])
    if not literals or not all(isinstance(literal, str) and len(literal) >= 2 for literal in literals):
        raise wrong("needs literals, each of two characters at least")
    if any(_ESCAPED.search(literal) for literal in literals):
        raise wrong(
            "has a literal that JSON writes in another way: quotes, backslashes and what is not ASCII cannot stand in one"
        )
    fold = bool(entry.get("fold", False))
    flags = re.IGNORECASE if fold else 0
    try:
        pattern = re.compile(_pattern(entry, literals), flags)
        left = re.compile(f"(?:{_written_out(entry['left'])})\\Z", flags) if "left" in entry else None
        each = re.compile(_written_out(entry["each"]), flags) if "each" in entry else None
    except (re.error, TypeError) as error:
        raise wrong(f"has a pattern that is none: {error}") from error
    if not pattern.pattern:
        raise wrong("needs a pattern")
    if entry.get("strength", "strong") not in _STRENGTHS:
        raise wrong("has a strength that is none of strong, medium, weak")
    return Rule(
        id=name,
        literals=tuple(literal.lower() if fold else literal for literal in literals),
        fold=fold,
        pattern=pattern,
        left=left,
        search=bool(entry.get("search", False)),
        edge=bool(entry.get("edge", "near" not in entry)),
        group="secret" if "secret" in pattern.groupindex else 0,
        each=each,
        checks=tuple(check(test) for test in entry.get("checks", ["real"])),
        strength=_STRENGTHS[entry.get("strength", "strong")],
        about=str(entry.get("about", "")),
        examples=_texts(entry.get("examples", [])),
        counterexamples=_texts(entry.get("counterexamples", [])),
        shared=frozenset(_texts(entry.get("shared", []))),
        gate=_gate(entry, wrong),
    )


def _gate(entry: Mapping[str, Any], wrong: Callable[[str], UsageError]) -> re.Pattern[bytes] | None:
    if "gate" not in entry:
        return None
    try:
        return re.compile(str(entry["gate"]).encode(), re.IGNORECASE)
    except re.error as error:
        raise wrong(f"has a gate that is none: {error}") from error


def _pattern(entry: Mapping[str, Any], literals: Sequence[str]) -> str:
    if "near" not in entry:
        own = _written_out(entry.get("pattern", ""))
        return f"(?:{_written_out(entry['left'])})(?:{own})" if own and "left" in entry else own
    names = "|".join(map(re.escape, literals))
    return f"(?i:{names}){_NEAR}(?P<secret>{entry['near']})(?![A-Za-z0-9])"


def _written_out(pattern: str) -> str:
    for word, meaning in _WORDS.items():
        pattern = pattern.replace(word, meaning)
    return pattern


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)

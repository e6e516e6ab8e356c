"""
Packs of personal data, off unless asked for: user names in paths, e-mail addresses, host names, telephone numbers, IP addresses.

A pack is exact about its own kind only: what might as well be code, a version or an id stays. User names and host names are
learned from a session (a path, a prompt) and then removed wherever they stand in it as words of their own, but for words that
mean something else too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from satchel.redaction import commonplace
from satchel.redaction.placeholders import spelled
from satchel.redaction.spans import MEDIUM, Span, merged

__all__ = ["KINDS", "PACKS", "Pack", "packs", "placeholder"]


class Pack(Protocol):
    """Finds one kind of personal data; it remembers what it learned until `begin`."""

    kind: str

    def begin(self) -> None:
        """Forget what was learned: another family of sessions begins."""
        ...

    def learn(self, text: str, /) -> None: ...

    def find(self, text: str, /) -> list[Span]:
        """Return what of a text is of this kind, in order, without overlaps."""
        ...


def placeholder(kind: str, value: str, tag: Callable[[str], str]) -> str:
    """
    Return what stands for a value of these kinds; names that differ in capitals only are the same.

    A user's name becomes a name (`/home/user-1c9a02/`), so that paths stay paths; everything else `[REDACTED:<kind>:<tag>]`.
    """
    mark = tag(value.lower())
    return f"user-{mark}" if kind == "home-user" else spelled(kind, mark)


_MOST = 200
"""Names kept of one family: a session that speaks of more users than this is a list of users."""

_ESCAPE = r"(?<=\\[nrt])|(?<=%2[Ff])|(?<=%40)|(?<=%20)"
_START = rf"(?:(?<![^\W_])|{_ESCAPE})"
_END = r"(?![^\W_])"


class _Learning:
    """What two packs share: names that were learned, and a pattern of them."""

    kind = ""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._given = tuple(names)
        self.begin()

    def begin(self) -> None:
        self._names: dict[str, None] = {}
        self._pattern: re.Pattern[str] | None = None
        for name in self._given:
            self._keep(name)

    def _keep(self, name: str) -> None:
        folded = name.lower()
        if folded not in self._names and len(self._names) < _MOST:
            self._names[folded] = None
            self._pattern = None

    def _words(self, text: str) -> Iterator[Span]:
        if not self._names:
            return
        if self._pattern is None:
            forms = {form for name in self._names for form in (name, re.sub(r"[^a-z0-9]", "-", name))}
            longest_first = sorted(map(re.escape, forms), key=lambda form: (-len(form), form))
            self._pattern = re.compile(f"{_START}(?:{'|'.join(longest_first)}){_END}", re.IGNORECASE)
        for match in self._pattern.finditer(text):
            yield Span(*match.span(), self.kind, MEDIUM)


# ----------------------------------------------------------------------------------------------------------- user names

_USER = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}"
# A path from its root: what stands before is no part of a longer one, but for the places where homes are mounted.
_HOME = re.compile(
    rf"""(?x)
      (?: (?<![\w.}})\]\-]) | (?<=/(?:nfs|net|mnt|var)) | (?<=/export) | (?<=/host) | (?<=/private) | (?<=/Volumes/Data) |
      {_ESCAPE} ) (?: /home/ | /Users/ | %2F(?:home|Users)%2F )                       ({_USER})
    | (?: \b[A-Za-z]: | (?<=/mnt/[a-z]) | (?<=(?<!\w)/[a-z]) ) (?: \\{{1,4}} | / ) Users (?: \\{{1,4}} | / ) ({_USER})
    | (?<![\w.-]) - (?: home | Users ) - ([A-Za-z0-9_]{{1,32}})
    | (?<![\w~/.\\-]) ~ ([a-z_][a-z0-9_-]{{1,31}}) (?=/)
    | \b (?: USER | LOGNAME | USERNAME ) = ["']? ([A-Za-z_][A-Za-z0-9_.-]{{0,31}}) (?![\w(./$])
    """
)
_OURS = re.compile(r"user-[0-9a-f]{6}")


def _person(name: str) -> bool:
    """Return whether a name in a path is a person's, and none of a machine, a service, an example, or ours."""
    return name.lower() not in commonplace.ACCOUNTS and not name.isdigit() and _OURS.match(name) is None


def _trimmed(name: str) -> str:
    """Return a name without what ends a sentence."""
    return name.rstrip(".@-")


def _wordlike(name: str) -> bool:
    """Return whether a name may be replaced where it stands alone: nobody would write it for anything else."""
    return sum(c.isalpha() for c in name) >= 4 and name.lower() not in commonplace.WORDS


class HomeUsers(_Learning):
    """Names of users, known from their homes: in paths always, as words where they can be nothing else."""

    kind = "home-user"

    def _keep(self, name: str) -> None:
        if _person(name) and _wordlike(name):
            super()._keep(name)

    def learn(self, text: str, /) -> None:
        for start, end in _homes(text):
            self._keep(text[start:end])

    def find(self, text: str, /) -> list[Span]:
        places = [Span(start, end, self.kind, MEDIUM) for start, end in _homes(text) if _person(text[start:end])]
        return merged([*places, *self._words(text)])


def _homes(text: str) -> Iterator[tuple[int, int]]:
    for match in _HOME.finditer(text):
        start, end = match.span(match.lastindex or 0)
        name = _trimmed(match[match.lastindex or 0])
        # A letter of an escape (`\n`) or of another script goes on: the name is not known whole.
        if name and not text[start + len(name) : end + 1][:1].isalnum():
            yield start, start + len(name)


# -------------------------------------------------------------------------------------------------------------- e-mail

_LOCAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+'\[\]-]{0,63}\Z")
_DOMAIN = re.compile(r"((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8})([A-Za-z]{2,24})(?![A-Za-z0-9_])")
_LOCAL_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+'[]-")
_NOBODY = re.compile(
    r"(?i)git|no-?reply|do-?not-?reply|noreply[+.].*|mailer-daemon|postmaster|user|username|you|your[._-]?(?:name|email)|name|email"
    r"|foo|bar|test|someone|x+"
)


class Emails:
    """E-mail addresses; those of examples, of nobody (noreply) and of repositories (git@) stay."""

    kind = "email"

    def begin(self) -> None: ...

    def learn(self, text: str, /) -> None: ...

    def find(self, text: str, /) -> list[Span]:
        spans: list[Span] = []
        at = text.find("@")
        while at >= 0:
            span = _email(text, at)
            if span is not None:
                spans.append(Span(*span, self.kind, MEDIUM))
            at = text.find("@", at + 1)
        return merged(spans)


def _email(text: str, at: int) -> tuple[int, int] | None:
    domain = _DOMAIN.match(text, at + 1)
    if domain is None:
        return None
    start = at
    while start and at - start < 64 and text[start - 1] in _LOCAL_CHARS:
        start -= 1
    # The letter of an escape is none of the name: \nalice@…
    if start and text[start - 1] == "\\" and text[start] in "nrt":
        start += 1
    while start < at and text[start] in "._%+'[]-":
        start += 1
    local, host, top = text[start:at], domain[1].lower(), domain[2].lower()
    if not local or _NOBODY.fullmatch(local) or top not in commonplace.TOP_DOMAINS:
        return None
    if re.match(r"\d{1,2}x\.", host) or "noreply" in host or host.split(".")[-2] == "example" or _in_url(text, start):
        return None
    end = domain.end()
    return start, end


def _in_url(text: str, start: int) -> bool:
    """Return whether what begins here is the user or password of a URL."""
    return re.search(r"://[^\s/@\"'<>]{0,200}\Z", text[max(0, start - 210) : start]) is not None


# --------------------------------------------------------------------------------------------------------------- hosts

_LABELS = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})\.){1,6}"
_INTERNAL = re.compile(rf"(?<![\w.-])({_LABELS}(?:local|internal|lan|corp|intranet|localdomain|home\.arpa))(?![\w-]|\.\w|\()")
_PROMPT = re.compile(
    r"""(?xm)
      (?<![\w.@/:-]) [A-Za-z_][\w.-]{0,31} @ ([A-Za-z0-9][A-Za-z0-9.-]{0,62}) : (?: ~ | / ) [^\s$\#:]{0,120} \s? [$\#] (?=\s|$)
    | \[ [A-Za-z_][\w.-]{0,31} @ ([A-Za-z0-9][A-Za-z0-9.-]{0,62}) \s [^\]\n]{1,80} \] \s? [$\#] (?=\s|$)
    | \b(?: ssh | scp | sftp | mosh | ssh-copy-id | rsync ) \s (?: [^\s@|;&]{1,64} \s ){0,6} [A-Za-z_][\w.-]{0,31} @
    ([A-Za-z0-9][A-Za-z0-9.-]{0,62}) | \bssh://(?: [^\s@/:]{1,64} (?: : [^\s@/]{1,64} )? @ )? ([A-Za-z0-9][A-Za-z0-9.-]{0,62})
    """
)
_SPOKEN_TO = re.compile(
    r"(?i)(?:\b(?:ssh|scp|ping|curl|host|hostname|server|rsync|telnet|nc|dig|nslookup|hosts?:)[\s=:\"']{1,3}|://|@)\Z"
)
_KEPT_HOSTS = re.compile(
    r"(?i)localhost|.*\.?(?:host|gateway)\.docker\.internal|metadata\.google\.internal|.*\.cluster\.local|.*\.localdomain"
    r"|(?:.*\.)?(?:github|gitlab|bitbucket|codeberg|sr|hf|huggingface|azure|visualstudio)\.(?:com|org|ht|co)|(?:.*\.)?example(?:\.\w+)?"
    r"|[0-9a-f]{12}|[\d.]+"
)


class Hosts(_Learning):
    """
    Names of machines: known from prompts, from what somebody logged in to, and from names that only a local network has.

    Names that the user gave (`hosts` of the policy's file) count with all that is below them.
    """

    kind = "host"

    def _keep(self, name: str) -> None:
        name = name.rstrip(".-")
        if not _KEPT_HOSTS.fullmatch(name) and name.lower() not in commonplace.ACCOUNTS and ("." in name or _wordlike(name)):
            super()._keep(name)

    def learn(self, text: str, /) -> None:
        for start, end in _hosts(text):
            self._keep(text[start:end])

    def find(self, text: str, /) -> list[Span]:
        places = [Span(s, e, self.kind, MEDIUM) for s, e in _hosts(text) if not _KEPT_HOSTS.fullmatch(text[s:e])]
        words = (self._below(text, span) for span in self._words(text))
        return merged([*places, *words])

    def _below(self, text: str, span: Span) -> Span:
        """Return the span with the labels before it, where a full name was found at the end of a longer one."""
        if "." not in text[span.start : span.end]:
            return span
        before = re.search(r"(?:[A-Za-z0-9_-]{1,63}\.){1,6}\Z", text[max(0, span.start - 128) : span.start])
        return span._replace(start=span.start - len(before[0])) if before else span


def _hosts(text: str) -> Iterator[tuple[int, int]]:
    if "@" in text or "ssh://" in text:
        for match in _PROMPT.finditer(text):
            start, end = match.span(match.lastindex or 0)
            yield start, end - (len(text[start:end]) - len(text[start:end].rstrip(".-")))
    for match in _INTERNAL.finditer(text):
        start, end = match.span(1)
        label = match[1].partition(".")[0]
        named = "-" in label or (any(c.isdigit() for c in label) and any(c.isalpha() for c in label))
        if named or _SPOKEN_TO.search(text[max(0, start - 16) : start]) or re.match(r":\d{2,5}(?!\w)", text[end : end + 7]):
            yield start, end


# -------------------------------------------------------------------------------------------------------------- phones

_PHONE = re.compile(
    r"""(?x)
    (?<![\w.+:=#/\\&?%-])
    (?: \+ [1-9] \d{0,2} (?: [ .()-]{0,2} \d{1,4} ){2,6}               # +49 30 1234567
      | \( \d{3} \) [ ]? \d{3} [-. ] \d{4}                             # (212) 555-4567
      | (?: 1[-. ] )? [2-9]\d{2} ([-. ]) [2-9]\d{2} \1 \d{4}           # 212-555-4567
    )
    (?! [\w%] | [-./:] \d )
    """
)
_CALLED = re.compile(
    r"""(?xi)
    \b (?: tel | phone | telephone | mobile | mobil | cell | fax | call | whatsapp | telefon | handy )
    (?: \s? (?: no\.? | nr\.? | number | is | at | me ) ){0,2} \s? [.:=]? \s? ["']? \s?
    ( \(? 0? \d{1,4} \)? (?: [ ./-]{1,2} \(? \d{2,8} \)? ){1,5} )
    (?! [\w%] | [-./:] \d )
    """
)


class Phones:
    """Telephone numbers: with a plus sign, in the usual groups, or behind a word that says so; never bare digits."""

    kind = "phone"

    def begin(self) -> None: ...

    def learn(self, text: str, /) -> None: ...

    def find(self, text: str, /) -> list[Span]:
        spans = [
            Span(*match.span(), self.kind, MEDIUM) for match in _PHONE.finditer(text) if _phone(text, match.start(), match[0])
        ]
        spans += [Span(*match.span(1), self.kind, MEDIUM) for match in _CALLED.finditer(text) if 8 <= _digits(match[1]) <= 15]
        return merged(spans)


def _digits(value: str) -> int:
    return sum(c.isdigit() for c in value)


def _phone(text: str, start: int, value: str) -> bool:
    if not 8 <= _digits(value) <= 15 or re.search(r"555[-. ]01\d\d\Z", value):
        return False
    if value.startswith("+") and not re.search(r"[ .()-]", value):
        # A line that a diff adds begins so; and a number of ten digits is a number.
        line = start > 0 and text[start - 1] == "\n"
        return _digits(value) >= 10 and not line
    if value.startswith("+") and "." in value and not re.search(r"[ ()-]", value):
        return value.count(".") > 1
    before = text[max(0, start - 80) : start]
    return "://" not in before[before.rfind(" ") + 1 :]


# ----------------------------------------------------------------------------------------------------------- addresses

_V4 = re.compile(r"(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w-]|\.\d)")
_V6 = re.compile(r"(?<![\w:.])[23][0-9A-Fa-f]{3}(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?:::)?(?![\w:])")
_VERSION = re.compile(
    r"(?i)(?:\b(?:version|ver|release|rev|build|v|tag|python|node|chrome|section|§)[\s\"':=]{0,4}|[<>~^!=]=\s?|[@^~]|[A-Za-z]/)\Z"
)
_ADDRESS = re.compile(
    r"(?i)(?:\b(?:ips?|addr(?:ess)?|host|from|to|ping|server|peer|client|remote|src|dst|for|listen|connect\w*|ssh|curl)[\s\"':=(\[]{1,4}|://|@)\Z"
)
_RESOLVERS = frozenset(["8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "208.67.222.222"])


class Addresses:
    """Public IP addresses; those of private networks, of examples and of this machine say nothing, and versions are none."""

    kind = "ip"

    def begin(self) -> None: ...

    def learn(self, text: str, /) -> None: ...

    def find(self, text: str, /) -> list[Span]:
        spans = [Span(*match.span(), self.kind, MEDIUM) for match in _V4.finditer(text) if _public_v4(text, match)]
        if ":" in text:
            spans += [Span(*match.span(), self.kind, MEDIUM) for match in _V6.finditer(text) if _public(match[0])]
        return merged(spans)


def _public(value: str) -> bool:
    try:
        return ipaddress.ip_address(value).is_global
    except ValueError:
        return False


def _public_v4(text: str, match: re.Match[str]) -> bool:
    value = match[0]
    if value in _RESOLVERS or value.endswith(".0.0") or not _public(value):
        return False
    before = text[max(0, match.start() - 24) : match.start()]
    if _ADDRESS.search(before) or re.match(r":\d{2,5}(?!\d)|/\d{1,2}(?!\d)", text[match.end() : match.end() + 7]):
        return not _VERSION.search(before) or before.endswith("://")
    small = all(int(part) < 20 for part in value.split("."))
    return not small and not _VERSION.search(before)


PACKS: dict[str, type[HomeUsers] | type[Emails] | type[Hosts] | type[Phones] | type[Addresses]] = {
    "home-user": HomeUsers,
    "emails": Emails,
    "hosts": Hosts,
    "phones": Phones,
    "ips": Addresses,
}
"""What `--also` takes."""

KINDS = frozenset(pack.kind for pack in PACKS.values())
"""The kinds that stand in their placeholders and in reports."""


def packs(names: Iterable[str], *, people: Iterable[str] = (), hosts: Iterable[str] = ()) -> list[Pack]:
    """
    Return new packs of these names, in the order of `PACKS`.

    Args:
        people, hosts: Names that are known from the start.
    """
    wanted = set(names)
    made: list[Pack] = []
    for name, pack in PACKS.items():
        if name in wanted:
            made.append(HomeUsers(people) if pack is HomeUsers else Hosts(hosts) if pack is Hosts else pack())
    return made

"""The options that `export`, `redact` and `scan` share about what is removed, as a decorator, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.cli._output import say
from satchel.cli.declare import option

if TYPE_CHECKING:
    from satchel.events import Listener
    from satchel.protecting import Protection
    from satchel.redaction.report import Report

__all__ = ["given", "protected", "redaction", "tell_removed"]

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKS = "home-user|emails|hosts|phones|ips|all"


def redaction(*, removes: bool = True) -> Callable[[Function], Function]:
    """
    Return what adds the options that say what is secret.

    Args:
        removes: The command takes secrets out; otherwise it only looks, and options about what comes in their place are left out.
    """
    options: list[Callable[[Function], Function]] = [
        option("--rules", "rules_from", multiple=True, metavar="FILE", help="Rules of your own (TOML). Repeatable."),
        option("--no-rule", multiple=True, metavar="ID", help="Leave a rule out, by its id. Repeatable."),
        option(
            "--allow",
            multiple=True,
            metavar="FILE",
            help="What may stay: a value, a placeholder, regex:PATTERN or rule:ID a line. Repeatable.",
        ),
        option(
            "--secrets-from",
            multiple=True,
            metavar="FILE|env|hermes",
            help="Remove these values wherever they are: those of a .env, JSON, netrc or a list; of environment variables with "
            "sensitive names; of Hermes' own .env and auth.json. Repeatable.",
        ),
        option(
            "--also",
            multiple=True,
            metavar=_PACKS,
            help="Personal data too: user names of homes, e-mail addresses, host names, telephone numbers, public IP addresses. "
            "Repeatable.",
        ),
        option(
            "--level",
            choices=("tokens", "default", "strict"),
            help="tokens: what is surely a secret. strict: personal data and media too. [default]",
        ),
        option("--redact-config", metavar="FILE", help="Take these settings from FILE, not from your own redact.toml."),
        option("--report", metavar="FILE", help="Write what was found, in numbers, as JSON that only you may read."),
        option(
            "--verify-with",
            multiple=True,
            metavar="gitleaks|betterleaks|trufflehog",
            help="Let an installed scanner look too, before files get their names; it asks no network. Repeatable.",
        ),
    ]
    if removes:
        options += [
            option("--skeleton", flag=True, help="Leave no text at all: roles, times, tools, tokens and sizes only."),
            option("--drop-media", flag=True, help="Put a note of kind and size in the place of pictures, fonts and sounds."),
        ]
    options += [
        option("--tag-key-file", metavar="FILE", help="The key (32 bytes) of the tags in placeholders. [your own, made once]"),
        option("--fresh-tags", flag=True, help="Make tags that can't be compared with those of other runs."),
    ]

    def add(function: Function) -> Function:
        for add_one in reversed(options):
            function = add_one(function)
        return function

    return add


_NAMES = (
    *("rules_from", "no_rule", "allow", "secrets_from", "also", "level", "redact_config", "report", "verify_with"),
    *("skeleton", "drop_media", "tag_key_file", "fresh_tags"),
)


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of redaction out of a command's, and return those that were given."""
    return {name: value for name in _NAMES if (value := options.pop(name, None))}


def protected(wanted: dict[str, Any], *, counts: bool, force: bool = False, listen: Listener) -> Protection:
    """Return the redaction that options ask for. Raises UsageError."""
    from satchel.protecting import protection

    config = wanted.pop("redact_config", None)
    return protection(config=config, counts=counts, force=force, listen=listen, **wanted)


def tell_removed(report: Report, *, unit: str, verb: str = "removed") -> None:
    """Say how many secrets of which kinds there were."""
    from satchel.redaction.report import sentences

    for sentence in sentences(report, unit=unit, verb=verb):
        say(sentence)

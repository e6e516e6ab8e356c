"""
Joins what a user asks of a redaction: a policy, a key, a report, other scanners. `export`, `redact` and `scan` share it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satchel import jsontext, second_opinion
from satchel.contracts import Redactor
from satchel.errors import JsonError, RedactionError, TargetError, UsageError
from satchel.events import Listener, ignore
from satchel.manifest.target import FileTarget
from satchel.redaction.building import build
from satchel.redaction.policy import Policy, make_policy
from satchel.redaction.report import Report
from satchel.redaction.tags import TagKey

__all__ = ["Protection", "protection", "write_report"]


@dataclass(slots=True, kw_only=True)
class Protection:
    """
    A redaction, ready to be used.

    Attributes:
        redactor: Takes secrets out; it tells `report` when it works on sessions.
        policy: What it was made of.
        verifiers: The scanners that are asked before files get their final names.
    """

    redactor: Redactor
    policy: Policy
    report: Report
    verifiers: tuple[str, ...] = ()
    report_to: str | None = None
    force: bool = False
    opinions: list[second_opinion.Opinion] = field(default_factory=list)

    @property
    def searches(self) -> bool:
        """Whether secrets are looked for, in the sessions and in what is written; a skeleton has none."""
        return not self.policy.skeleton

    @property
    def examine(self) -> Callable[[Sequence[tuple[str, str]]], None] | None:
        """What looks at files before they get their names, or None. It raises RedactionError for what a scanner finds."""
        return self._examine if self.verifiers else None

    def _examine(self, files: Sequence[tuple[str, str]]) -> None:
        for name in self.verifiers:
            found = second_opinion.ask(name, files)
            self.report.verifiers[name] = self.report.verifiers.get(name, 0) + len(found)
            if found:
                first = found[0]
                more = f", and {len(found) - 1} more" if len(found) > 1 else ""
                raise RedactionError(
                    f"{name} finds {first.rule} in {first.file}, line {first.line}{more}: nothing of it got its final name; "
                    "remove it with a rule of your own (--rules), or leave the option out",
                    subject=first.file,
                )

    @property
    def look(self) -> Callable[[Sequence[tuple[str, str]]], list[second_opinion.Opinion]] | None:
        """What tells what the scanners find in files, for a report on them; None without scanners."""
        return self._look if self.verifiers else None

    def _look(self, files: Sequence[tuple[str, str]]) -> list[second_opinion.Opinion]:
        found = []
        for name in self.verifiers:
            said = second_opinion.ask(name, files)
            self.report.verifiers[name] = len(said)
            found += [opinion._replace(rule=f"{name}:{opinion.rule}") for opinion in said]
        return found

    def finish(self, *, gate: str = "off") -> None:
        """Write the report, where one was asked for. Raises TargetError."""
        self.report.gate = gate
        if self.report_to is not None:
            write_report(self.report_to, self.report, self.policy, force=self.force)


def protection(
    *,
    tag_key_file: str | None = None,
    fresh_tags: bool = False,
    report: str | None = None,
    verify_with: Sequence[str] = (),
    counts: bool = True,
    force: bool = False,
    listen: Listener = ignore,
    **wanted: Any,
) -> Protection:
    """
    Return the redaction that options ask for.

    Args:
        tag_key_file: A file of 32 bytes; by default the user's own key, made when there is none.
        fresh_tags: Tags say nothing outside of this run.
        report: Where the report goes.
        verify_with: Names of scanners that are installed.
        counts: The redactor tells the report itself; off where files are gone through, who count by their own places.
        wanted: As `satchel.redaction.policy.make_policy` takes it.

    Raises:
        UsageError: It makes no sense, or a file or program it names is not there.
    """
    if tag_key_file is not None and fresh_tags:
        raise UsageError("--tag-key-file names a key, and --fresh-tags makes one: give one of them")
    if wanted.get("skeleton"):
        for name in ("rules_from", "no_rule", "allow", "secrets_from", "also", "drop_media", "level"):
            if wanted.get(name):
                option = {"rules_from": "rules"}.get(name, name).replace("_", "-")
                raise UsageError(f"--skeleton leaves no text at all, so --{option} has nothing to say: leave one of them out")
    for name in verify_with:
        second_opinion.found_program(name)
    if report is not None:
        _may_write(report, force=force)
    policy = make_policy(**wanted)
    tags = (
        TagKey.fresh() if fresh_tags else TagKey.read(tag_key_file, listen=listen) if tag_key_file else TagKey.own(listen=listen)
    )
    told = Report()
    return Protection(
        redactor=build(policy, tags=tags, report=told if counts else None),
        policy=policy,
        report=told,
        verifiers=tuple(dict.fromkeys(verify_with)),
        report_to=report,
        force=force,
    )


def write_report(path: str | os.PathLike[str], report: Report, policy: Policy, *, force: bool = False) -> None:
    """
    Write a report as JSON, for its owner's eyes only (mode 0600); an older report is replaced, any other file only by `force`.

    Raises:
        TargetError: It can't be written, or something else has its name.
    """
    _may_write(path, force=force)
    with FileTarget(path, force=True) as target:
        stream = target.aside(target.name)
        stream.write(jsontext.dumps(report.as_dict(rules=policy.facts())) + b"\n")
        item = target.close(stream)
        target.place(item._replace(mode=0o600), replace=True)


def _may_write(path: str | os.PathLike[str], *, force: bool) -> None:
    found = Path(path)
    if os.fspath(path) == "-" or not found.name:
        raise UsageError("--report takes the name of a file", subject=os.fspath(path))
    if not force and os.path.lexists(found) and not _is_report(found):
        raise TargetError(
            f"{found} exists already and is no report: use --force to overwrite it, or another name", subject=str(found)
        )


def _is_report(path: Path) -> bool:
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > 64 << 20:
            return False
        said = jsontext.loads(path.read_bytes())
    except (OSError, JsonError):
        return False
    return isinstance(said, dict) and "report" in said and "by_rule" in said

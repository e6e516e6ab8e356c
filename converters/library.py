"""
The library's front door: what the command line does, as functions.

    import satchel

    with satchel.open("~/.hermes/state.db") as store:
        for info in store.sessions():
            for entry in store.decode(store.records(info.id)):
                ...

    satchel.convert("~/.hermes/state.db", "backup.jsonl", selection=satchel.make_selection(source="cli"))
    assert satchel.verify("backup.jsonl", content=True).ok
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import satchel
from satchel import pipeline, sources, verifying
from satchel.contracts import Redactor, Store
from satchel.events import Listener, ignore
from satchel.formats import registry
from satchel.selection import Selection, selection

if TYPE_CHECKING:
    from satchel.redacting import Finding
    from satchel.redacting import Outcome as FileOutcome
    from satchel.redaction.policy import Policy
    from satchel.redaction.report import Report
    from satchel.redaction.tags import TagKey

__all__ = ["convert", "make_redactor", "make_selection", "open", "redact", "redact_file", "scan", "verify"]


def open(path: str | os.PathLike[str], *, format: str | None = None, listen: Listener = ignore) -> Store:
    """
    Open one store: a context manager that gives its sessions, their records, and the entries they say.

    Args:
        format: The reader's name; by default the content tells.

    Raises:
        NotFound: Nothing is at the path.
        NotAStore: No reader knows it.
        StoreError: It can't be read.
    """
    found = Path(os.path.expanduser(path))
    if format is None:
        source = sources.find([str(found)], listen=listen)[0]
        return registry.reader(source.reader).open(source.path, listen=listen)
    return registry.reader(format).open(found, listen=listen)


def convert(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | BinaryIO,
    *,
    format: str = "jsonl",
    selection: Selection | None = None,
    lineage: Literal["single", "logical"] = "single",
    options: Mapping[str, Any] | None = None,
    redactor: Redactor | None = None,
    manifest: bool = True,
    force: bool = False,
    listen: Listener = ignore,
) -> pipeline.Outcome:
    """
    Write sessions of one or several stores in a format: the same run as `satchel export`.

    Args:
        source: Paths of stores, or names of agents.
        output: A file, a folder, or a binary stream.
        selection: Which sessions; by default all.
        lineage: "logical" joins the segments of a compressed conversation.
        options: The writer's own options.
        redactor: Takes secrets out; `make_redactor` gives one.
        manifest: Write the manifest beside the output.
        force: Overwrite what is there.

    Raises:
        SatchelError: Nothing was written.
    """
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    return pipeline.export(
        sources.find([os.fspath(path) for path in given], listen=listen),
        output,
        format=format,
        selection=selection if selection is not None else make_selection(),
        lineage=lineage,
        options=options,
        redactor=redactor,
        manifest=manifest,
        force=force,
        version=satchel.__version__,
        listen=listen,
    )


def make_selection(*, now: float | None = None, **filters: Any) -> Selection:
    """
    Return the sessions that filters choose: those of `satchel export`, by the names of its options, as text or numbers.

    A number where a time is asked for is that many days ago; other times are text, as on the command line.

    Args:
        now: The moment that durations count back from, in seconds since the epoch; by default now.

    Raises:
        UsageError: A value is empty or makes no sense.
    """
    given: dict[str, Any] = {name: str(value) if type(value) in (int, float) else value for name, value in filters.items()}
    return selection(now=time.time() if now is None else now, **given)


def verify(path: str | os.PathLike[str], *, content: bool = False, listen: Listener = ignore) -> verifying.Report:
    """
    Compare an export with its manifest; with `content` also what its files say with what was written.

    Raises:
        NotFound: Nothing is at the path.
    """
    return verifying.check(path, content=content, listen=listen)


def make_redactor(policy: Policy | None = None, *, tags: TagKey | None = None, report: Report | None = None) -> Redactor:
    """
    Return what takes secrets out, for `convert`, or to be used again and again for texts and files: making it takes a moment.

    Args:
        policy: What `make_policy` returns; by default the built-in rules alone, whatever the user's redact.toml says.
        tags: The key of the tags in placeholders; by default the user's own, made when there is none.
        report: Is told what goes from sessions: a `satchel.redaction.report.Report`.

    Raises:
        SatchelError: The key can't be read or made.
    """
    from satchel.redaction.building import build
    from satchel.redaction.tags import TagKey

    return build(policy, tags=tags if tags is not None else TagKey.own(), report=report)


def redact(text: str, *, policy: Policy | None = None, redactor: Redactor | None = None) -> str:
    """
    Return a text without its secrets; JSON stays JSON. For many texts make one redactor, and give it.

    Raises:
        RedactionError: It failed, and nothing of the text may be used.
    """
    use: Any = redactor if redactor is not None else make_redactor(policy)
    return str(use.clean(text))


def redact_file(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    policy: Policy | None = None,
    redactor: Redactor | None = None,
    in_place: bool = False,
    force: bool = False,
    copy_binary: bool = False,
    listen: Listener = ignore,
) -> FileOutcome:
    """
    Redact a file, or a folder with all that is in it: the same run as `satchel redact`.

    Args:
        output: A file, for a folder a folder, or a binary stream; None with `in_place`.
        redactor: Made without a report; what went from the files is in the outcome's.

    Raises:
        SatchelError: Nothing of the file at hand is under its final name.
    """
    from satchel.redacting import redact_path

    return redact_path(
        path,
        output,
        redactor=redactor if redactor is not None else make_redactor(policy),
        in_place=in_place,
        force=force,
        copy_binary=copy_binary,
        listen=listen,
    )


def scan(
    path: str | os.PathLike[str], *, policy: Policy | None = None, redactor: Redactor | None = None, listen: Listener = ignore
) -> list[Finding]:
    """
    Return where secrets are in a file, or a folder with all that is in it: place, rule and tag of each, no value.

    Raises:
        SatchelError: Nothing is there, or it can't be read.
    """
    from satchel.redacting import scan_path

    found: list[Finding] = []
    use = redactor if redactor is not None else make_redactor(policy)
    scan_path(path, redactor=use, hear=found.append, listen=listen)
    return found

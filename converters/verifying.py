"""
Verification that needs the readers: what the files say (`--content`), and what the stores say now (`--source`).

`satchel.manifest.verify` compares bytes; this module gives it the look into them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from satchel.errors import ManifestError, SatchelError, UsageError
from satchel.events import Listener, ignore
from satchel.manifest.paths import shown
from satchel.manifest.report import Finding, Report
from satchel.manifest.verify import verify

if TYPE_CHECKING:
    from satchel.contracts import Store

__all__ = ["Finding", "Report", "check", "compare_with_sources"]

# Formats whose files can be read back to content digests, and what reads them.
_READ_BACK = {
    "jsonl": "satchel.formats.jsonl.readback",
    "md": "satchel.formats.markdown.readback",
    "qmd": "satchel.formats.markdown.readback",
}


def check(path: str | os.PathLike[str], *, content: bool = False, listen: Listener = ignore) -> Report:
    """
    Compare an export with its manifest; with `content` also what its files say with the digests taken when they were written.

    Files that have no content to compare, by their format or the options of the export, are notes of the kind "unchecked". What
    should have one and has none is a finding.

    Raises:
        NotFound: Nothing is at the path.
    """
    return verify(path, listen=listen, content=_content if content else None)


def _content(
    path: str,
    update: Callable[[bytes], None],
    /,
    *,
    file: Mapping[str, Any],
    header: Mapping[str, Any],
    sessions: Iterator[dict[str, Any]],
) -> Iterable[Finding]:
    name = shown(str(file.get("path")))
    module = _READ_BACK.get(str(file.get("format")))
    if module is None:
        return [_without_reader(name, str(file.get("format")))]
    options = header.get("options")
    if isinstance(options, dict) and (only := options.get("only")):
        text = f"{name}: its content was not compared, since the export left parts out (only: {shown(str(only))})"
        return [Finding("unchecked", name, text)]
    findings: list[Finding] = []
    read_back = import_module(module).read_back
    expected = _explained(name, sessions, findings)
    line: int | None = None
    digests: list[Any] = []
    unknown = 0

    def close() -> None:
        """Compare what a line said with what the manifest says of it."""
        nonlocal unknown
        if not digests:
            return
        wanted = next(expected, None)
        findings.extend(_differences(name, digests, wanted))
        unknown += digests[-1].native_digest is not None and (wanted or {}).get("native_digest") is None

    for found in read_back(path, update=update):
        if not hasattr(found, "content_digest"):
            findings.append(Finding("content", name, f"{name}: {found.where} {found.message}"))
            continue
        if found.line != line:
            close()
            digests.clear()
            line = found.line
        digests.append(found)
    close()
    if unknown:
        text = f"{name}: the original records of {unknown} of its lines were not compared: its manifest has no digest of them"
        findings.append(Finding("unchecked", name, text))
    for left in expected:
        if left.get("content_digest") is not None or left.get("line") is not None:
            findings.append(Finding("content", name, f"{name}: session {left.get('session_id')} is listed and not there"))
    return findings


def _without_reader(name: str, format: str) -> Finding:
    from satchel.formats import registry

    try:
        registry.writer(format)
    except UsageError:
        text = f"{name}: its content could not be compared: no format is called {shown(format)!r} here"
        return Finding("content", name, text)
    except SatchelError:
        pass  # a plug-in that is there, and broken
    text = f"{name}: its content was not compared, since files of the format {shown(format)} are not read back"
    return Finding("unchecked", name, text)


def _explained(name: str, sessions: Iterable[dict[str, Any]], findings: list[Finding], /) -> Iterator[dict[str, Any]]:
    # A session has no digest when it was not read whole. Nothing else may switch the comparison off.
    for line in sessions:
        if line.get("content_digest") is None and not line.get("incomplete"):
            text = f"{name}: session {line.get('session_id')} has no content digest to compare with, and nothing says why"
            findings.append(Finding("content", name, text))
        yield line


def _differences(name: str, digests: Sequence[Any], wanted: Mapping[str, Any] | None) -> Iterator[Finding]:
    from satchel.digest import lineage_digest

    tip = digests[-1]
    where = f"{name}: line {tip.line}"
    if wanted is None:
        yield Finding("content", name, f"{where} holds session {tip.session_id}, which no line of the manifest names")
        return
    if wanted.get("session_id") != tip.session_id:
        yield Finding("content", name, f"{where} holds session {tip.session_id}, and {wanted.get('session_id')} is listed")
        return
    digest = wanted.get("content_digest")
    said = [d.content_digest for d in digests]
    if digest is not None and None not in said and digest != lineage_digest(said):
        yield Finding("content", name, f"{where}: session {tip.session_id} does not say what it said when it was written")
    native = wanted.get("native_digest")
    if native is not None and native != tip.native_digest:
        what = "are not those that were written" if tip.native_digest is not None else "are not there any more"
        yield Finding("content", name, f"{where}: the original records of session {tip.session_id} {what}")
    elif tip.fault is not None:
        yield Finding("content", name, f"{where}: session {tip.session_id}: {tip.fault}")
    for key in ("messages", "compacted", "rewound"):
        found = sum(getattr(d, key) for d in digests)
        if wanted.get(key) not in (None, found):
            text = f"{where}: session {tip.session_id} has {found} {key}, and {wanted[key]} are listed"
            yield Finding("content", name, text)


def _is_rest(store: Store, ids: Sequence[str]) -> bool:
    """Return whether these are sessions of what a store has, and the database beside it lacks."""
    from satchel.contracts import Beside

    return isinstance(store, Beside) and all(map(store.is_rest, ids))


def _said(store: Store, session_id: str) -> str:
    from satchel.digest import content_digest

    return content_digest(store.records(session_id), store.canonical, conversation=store.conversation)


def compare_with_sources(report: Report, sources: Sequence[Any], *, listen: Listener = ignore) -> list[Finding]:
    """
    Compare the sessions of a verified export with the stores as they are now.

    A session that went on, was changed or is gone is a finding ("source"); its copy is none the worse for it.
    """
    from contextlib import ExitStack

    from satchel.digest import lineage_digest
    from satchel.manifest.lines import read_manifest
    from satchel.sources import open_all

    findings: list[Finding] = []
    if report.manifest is None:
        return findings
    try:
        manifest = read_manifest(report.manifest)
    except ManifestError:
        return findings  # which the report names
    with ExitStack() as stack:
        stores = [store for _, store in open_all(stack, sources, listen=listen)]
        known = [{info.id for info in store.sessions(counts=False)} for store in stores]
        for line in manifest.sessions():
            ids = [i for i in line.get("lineage_session_ids") or [line.get("session_id")] if isinstance(i, str)]
            wanted, name = line.get("source_digest"), str(line.get("file") or "")
            if wanted is None:
                continue
            there = [store for store, names in zip(stores, known, strict=True) if names.issuperset(ids) or _is_rest(store, ids)]
            if not there:
                findings.append(
                    Finding("source", name, f"session {line.get('session_id')} is in none of the stores that were looked at")
                )
                continue
            try:
                digests = [lineage_digest([_said(store, session_id) for session_id in ids]) for store in there]
            except SatchelError as error:
                findings.append(Finding("source", name, f"session {line.get('session_id')}: {error.message}"))
                continue
            if wanted not in digests:
                findings.append(Finding("source", name, f"session {line.get('session_id')} is different in its store now"))
        for store in stores:
            store.check()
    return findings

"""
A second opinion on what is about to be published, from a secret scanner that is installed: gitleaks, betterleaks, TruffleHog.

It looks at private copies under the names that the files will have. Nothing is verified over the network, and of what it says
only the rule and the place are taken: no value is shown, kept or passed on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from satchel import jsontext
from satchel.errors import JsonError, RedactionError, UsageError
from satchel.redaction.placeholders import PLACEHOLDER

__all__ = ["VERIFIERS", "Opinion", "ask", "found_program"]

VERIFIERS = ("gitleaks", "betterleaks", "trufflehog")

_PATIENCE = 3600.0
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,63}")


class Opinion(NamedTuple):
    """What a scanner found: its rule, the file, and the line from 1 on (0 where it does not say)."""

    rule: str
    file: str
    line: int


def found_program(name: str) -> str:
    """Return the path of a scanner. Raises UsageError when it is not one of those known, or not installed."""
    if name not in VERIFIERS:
        raise UsageError(f"--verify-with takes {', '.join(VERIFIERS)}, not {name!r}", subject=name)
    program = shutil.which(name)
    if program is None:
        raise UsageError(
            f"--verify-with {name}: there is no such program on the PATH; install it, or leave the option out", subject=name
        )
    return program


def ask(
    name: str, files: Iterable[tuple[str, str | os.PathLike[str]]], *, environ: Mapping[str, str] = os.environ
) -> list[Opinion]:
    """
    Let a scanner look at files, each given by the name it goes by and the path where it is now.

    Raises:
        UsageError: It is not installed.
        RedactionError: It failed, or said what is not understood: then nobody knows, and nothing may be published.
    """
    program = found_program(name)
    with tempfile.TemporaryDirectory(prefix="satchel-verify-") as private:
        folder = Path(private, "files")
        folder.mkdir(mode=0o700)
        shown: dict[str, str] = {}
        for number, (called, path) in enumerate(files):
            # A name may lead out of the folder, be hidden, or be a placeholder: the copies are numbered.
            copy = folder / f"{number}{_suffix(called)}"
            shown[copy.name] = called
            try:
                os.link(path, copy)
            except OSError:
                shutil.copyfile(path, copy)
                copy.chmod(0o600)
        if not shown:
            return []
        said = _RUN[name](program, folder, Path(private, "report.json"), environ)
        return sorted({opinion._replace(file=shown.get(os.path.basename(opinion.file), "?")) for opinion in said})


def _suffix(name: str) -> str:
    # Scanners know lock files and pictures by their endings, and pass over them.
    return ".jsonl" if name.endswith(".jsonl") else ".md" if name.endswith((".md", ".qmd")) else ".txt"


def _output(program: str, words: list[str], environ: Mapping[str, str], *, fine: tuple[int, ...] = (0,)) -> bytes:
    name = os.path.basename(program)
    try:
        done = subprocess.run(
            [program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, env=dict(environ), check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        failure = RedactionError(f"{name} could not be run ({type(error).__name__}): nobody has checked the output", subject=name)
    else:
        if done.returncode in fine:
            return done.stdout
        # What it says about its failure may quote what it read.
        failure = RedactionError(f"{name} failed with status {done.returncode}: nobody has checked the output", subject=name)
    raise failure


def _of_gitleaks(program: str, folder: Path, report: Path, environ: Mapping[str, str]) -> list[Opinion]:
    words = ["dir", str(folder), "--no-banner", "--exit-code", "0", "--report-format", "json", "--report-path", str(report)]
    _output(program, words, environ)
    return list(_gitleaks(_parsed(program, report.read_bytes() if report.exists() else b"")))


def _gitleaks(said: Any) -> Iterator[Opinion]:
    for entry in said or ():
        if not any(PLACEHOLDER.search(str(entry.get(key, ""))) for key in ("Secret", "Match")):
            yield Opinion(_word(entry.get("RuleID")), str(entry.get("File", "")), _line(entry.get("StartLine")))


def _of_trufflehog(program: str, folder: Path, report: Path, environ: Mapping[str, str]) -> list[Opinion]:
    del report
    # Without --no-verification it would try what it found against the services that it belongs to.
    words = ["filesystem", str(folder), "--json", "--no-verification", "--no-update"]
    lines = _output(program, words, environ, fine=(0, 183)).splitlines()
    return list(_trufflehog([_parsed(program, line) for line in lines if line.strip()]))


def _trufflehog(said: list[Any]) -> Iterator[Opinion]:
    for entry in said:
        if "DetectorName" in entry and not any(PLACEHOLDER.search(str(entry.get(key, ""))) for key in ("Raw", "RawV2")):
            place = (((entry.get("SourceMetadata") or {}).get("Data") or {}).get("Filesystem")) or {}
            yield Opinion(_word(entry["DetectorName"]), str(place.get("file", "")), _line(place.get("line")))


def _parsed(program: str, data: bytes) -> Any:
    try:
        return jsontext.loads(data)
    except JsonError:
        failure = RedactionError(f"what {os.path.basename(program)} says is not understood: nobody has checked the output")
    raise failure


def _word(value: Any) -> str:
    """Return a rule's name, which comes from another program's file, if it is one."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else "?"


def _line(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


_RUN: dict[str, Callable[[str, Path, Path, Mapping[str, str]], list[Opinion]]] = {
    "gitleaks": _of_gitleaks,
    "betterleaks": _of_gitleaks,
    "trufflehog": _of_trufflehog,
}

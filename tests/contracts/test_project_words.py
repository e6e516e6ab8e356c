"""No file of the project names a path of the machine it was written on, a person's home, or a package registry's host."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

INVENTED = "ada|marek|user|you|me|NAME|name|alice|bob"
# Put together here, so that this file passes its own test.
WORDS = {
    "a machine's path": re.compile(r"(?<![\w.~$}/-])/(?:root|work|mnt|workspace)/(?=\w)|/tmp/" + r"w/"),
    "a home that is not invented": re.compile(rf"(?<![\w.])/(?:home|Users)/(?!(?:{INVENTED})\b)[A-Za-z][\w.-]*"),
    "a registry's host": re.compile(r"\b(?:pypi|pythonhosted|registry\.npmjs|deb\.debian|proxy\.golang)" + r"\.org\b"),
}


def _texts() -> dict[str, str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout: which files belong to the project is not known")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    texts = {}
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file() and b"\0" not in (data := path.read_bytes()):
            texts[name] = data.decode("utf-8", "replace")
    return texts


@pytest.mark.parametrize("what", WORDS)
def test_no_file_names(what: str) -> None:
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in _texts().items()
        for number, line in enumerate(text.split("\n"), 1)
        if WORDS[what].search(line)
    ]
    assert [] == found


@pytest.mark.parametrize(
    ("what", "text", "wrong"),
    [
        ("a machine's path", "see /ro" + "ot/x", True),
        ("a machine's path", "cd /wo" + "rk/main", True),
        ("a machine's path", "/home/ada/wo" + "rk/notes and ~/wo" + "rk/x and /root", False),
        ("a home that is not invented", "/home/" + "zed/.hermes", True),
        ("a home that is not invented", "C:/Users/" + "Zed/x", True),
        ("a home that is not invented", "/home/ada/tidepool, /home/<name>/, /Users/marek", False),
        ("a registry's host", "https://py" + "pi.org/simple", True),
        ("a registry's host", "python.org, example.org", False),
    ],
)
def test_the_patterns(what: str, text: str, wrong: bool) -> None:
    assert wrong is bool(WORDS[what].search(text))


def test_texts_end_with_a_line_end_and_hold_no_carriage_return() -> None:
    """Fixtures and golden files are what they are; everything written by hand has plain line ends."""
    data = ("fixtures/", "tests/golden/")
    mine = {name: text for name, text in _texts().items() if text and (name.endswith(".py") or not name.startswith(data))}
    assert [] == [name for name, text in mine.items() if "\r" in text or not text.endswith("\n")]

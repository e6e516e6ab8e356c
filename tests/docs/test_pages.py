"""The pages say what the program does: the command reference is its own help, the examples run, the links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from satchel.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_command_reference_is_the_help() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs/cli_reference.py")], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout

    assert made == (ROOT / "docs/cli.md").read_text()


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()

    assert [] == [name for name in COMMANDS if f"satchel {name}" not in readme and name != "formats"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())

    assert [] == [target for target in targets if not (page.parent / target).exists()]


@pytest.fixture
def home(tmp_path: Path, hermes_db: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Hermes home with the sample in it, and a folder to work in."""
    folder = tmp_path / "hermes"
    folder.mkdir()
    hermes_db(schema=23, case="story").rename(folder / "state.db")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(folder))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(ROOT / "fixtures/claude_code/home"))
    monkeypatch.chdir(work)
    return folder


def satchel(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "satchel", *words], capture_output=True, text=True, env=dict(os.environ), check=False
    )


def test_the_readme_commands_run(home: Path) -> None:
    some_id = satchel("export", "-", "--only", "user-prompts", "--dry-run").stdout.split()[0]
    commands = [line for block in fenced(ROOT / "README.md", "sh") for line in block.splitlines() if line.startswith("satchel")]
    ran = 0
    for line in commands:
        words = shlex.split(line.split("|")[0], comments=True)[1:]
        words = [some_id if word == "20260110_0206" else os.path.expanduser(word) for word in words]
        result = satchel(*words)

        assert (0, line) == (result.returncode, line), result.stderr
        assert "Traceback" not in result.stderr
        ran += 1

    assert ran > 8


def test_the_examples_in_help_run(home: Path) -> None:
    context = click.Context(cli)
    for name in [None, *COMMANDS]:
        command = cli if name is None else cli.get_command(context, name)
        assert command is not None
        assert command.epilog, f"{name} has no example"
        assert command.epilog.startswith("Example: satchel")
        (home.parent / "work" / "backup").mkdir(exist_ok=True)
        satchel("export", "backup/", "--force")
        some_id = satchel("export", "x", "--dry-run").stdout.split()[0]
        for line in command.epilog.removeprefix("Example: ").split("&&"):
            words = [some_id if re.fullmatch(r"20\d{6}_\w+", word) else word for word in shlex.split(line)[1:]]
            result = satchel(*words)

            assert (0, line) == (result.returncode, line), result.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_python_examples_run(home: Path, page: str) -> None:
    assert 0 == satchel("export", "backup.jsonl").returncode

    for block in fenced(ROOT / page, "python"):
        result = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)

        assert (0, "") == (result.returncode, result.stderr)

"""Start-up stays quick: nothing heavy is loaded before it is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LIST = "import json, sys; print(json.dumps(sorted(sys.modules)))"
EXPORT = """
import json, sys
from satchel.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)))
"""


def _modules_after(code: str, *arguments: str) -> set[str]:
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_the_command_line_loads_nothing_heavy() -> None:
    heavy = {
        "click",
        "orjson",
        "apsw",
        "pyarrow",
        "rich",
        "huggingface_hub",
        "asyncio",
        "multiprocessing",
        "markdown_it",
        "sqlite3",
    }
    loaded = _modules_after(f"import satchel.cli\n{LIST}")
    assert "satchel.cli" in loaded
    assert set() == heavy & loaded


def test_the_library_loads_nothing_but_itself() -> None:
    """`import satchel` is lazy, since each import of a part of it runs it too."""
    loaded = _modules_after(f"import satchel\n{LIST}")
    assert set() == {"click", "orjson", "apsw", "rich", "satchel.cli", "satchel.pipeline"} & loaded


def test_a_jsonl_export_loads_no_other_formats_libraries(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "sessions.jsonl"
    loaded = _modules_after(EXPORT, "export", str(out), "--from", str(hermes_db()))
    assert out.stat().st_size > 0
    assert set() == {"pyarrow", "huggingface_hub", "markdown_it", "asyncio", "multiprocessing"} & loaded


def test_commands_given_as_they_are_declared_load_no_parser(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """Loading click takes longer than most runs; only help, mistakes and odd spellings need it."""
    out, source = str(tmp_path / "sessions.jsonl"), ("--from", str(hermes_db()))
    for words in (
        ("export", out, "-q", *source),
        ("list", "--limit=1", *source),
        ("stats", *source),
        ("verify", out, "--content"),
        ("export", str(tmp_path / "clean.jsonl"), "--redact", *source),
        ("redact", out, "--output", str(tmp_path / "cleaned.jsonl")),
        ("scan", str(tmp_path / "clean.jsonl"), str(tmp_path / "cleaned.jsonl")),
    ):
        assert set() == {"click", "satchel.cli.explained"} & _modules_after(EXPORT, *words)


def test_help_and_an_export_that_is_not_redacted_load_no_rules(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """Rules and the search for them take longer to load than many a command takes."""
    heavy = {"ahocorasick_rs", "tomllib", "satchel.redaction.rules", "satchel.redaction.engine", "satchel.redaction.policy"}
    for words in (["--help"], ["redact", "--help"], ["scan", "--help"], ["export", "--help"]):
        assert set() == heavy & _modules_after(EXPORT, *words), words
    assert set() == heavy & _modules_after(EXPORT, "export", str(tmp_path / "out.jsonl"), "--from", str(hermes_db()))


def test_the_program_watches_for_signals_before_it_loads_itself() -> None:
    loaded = _modules_after(f"import satchel.__main__\n{LIST}")
    assert "satchel.stopping" in loaded
    assert set() == {"click", "satchel.cli", "satchel.errors"} & loaded


def test_comparing_with_a_manifest_loads_nothing_but_what_hashes(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """To load the fast JSON library, and what that loads, took longer than to parse the manifest of a thousand sessions."""
    out = tmp_path / "sessions.jsonl"
    _modules_after(EXPORT, "export", str(out), "--from", str(hermes_db()))
    loaded = _modules_after(EXPORT, "verify", str(out))
    assert "satchel.manifest.verify" in loaded
    assert set() == {"orjson", "dataclasses", "inspect", "satchel.jsontext", "satchel.contracts"} & loaded


def test_reading_and_verifying_an_export_load_no_database(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """How a file begins says which reader may be for it, so the others need not be loaded to be asked."""
    out = tmp_path / "sessions.jsonl"
    _modules_after(EXPORT, "export", str(out), "--from", str(hermes_db()))
    for words in (["list", "--from", str(out)], ["verify", str(out)]):
        assert set() == {"apsw", "rich", "satchel.pipeline", "satchel.formats.hermes_state.reader"} & _modules_after(
            EXPORT, *words
        )

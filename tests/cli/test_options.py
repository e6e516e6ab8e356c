"""What every command has in common, for every command there is: a new option is tested here by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from satchel.cli import COMMANDS, cli, declared


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command


def _options() -> Iterator[tuple[str, click.Option]]:
    for name in COMMANDS:
        for param in _command(name).params:
            if isinstance(param, click.Option):
                yield name, param


VALUED = [(name, spelling) for name, option in _options() if not option.is_flag for spelling in option.opts]
# Arguments that a command needs before its options count.
NEEDED = {"export": ["out.jsonl"], "redact": ["x"], "show": ["x"], "verify": ["x"]}


# Words after a command's name: what may be given, in every spelling, and what may not.
WORDS = [
    [],
    ["out.jsonl"],
    ["-"],
    ["x", "y"],
    [""],
    ["--"],
    ["--", "x"],
    ["x", "--"],
    ["-h"],
    ["x", "--help"],
    ["x", "-x"],
    ["x", "--nothing"],
    ["-q", "x"],
    ["x", "-qn"],
    ["x", "-nq", "--debug"],
    ["x", "-q=1"],
    ["x", "--quiet=yes"],
    ["x", "--quiet", "--quiet"],
    ["--strict", "x", "--json"],
    ["x", "--from", "a", "--from=b", "--from", "-"],
    ["x", "--from=a=b"],
    ["x", "--from", "--quiet"],
    ["x", "--from", "--"],
    ["x", "--from"],
    ["x", "--from="],
    ["x", "--profile", "one", "--profile", "two"],
    ["x", "--prof", "one"],
    ["x", "--limit", "5"],
    ["x", "--limit", "05"],
    ["x", "--limit", " 5"],
    ["x", "--limit", "\u0665"],
    ["x", "--limit=+5"],
    ["x", "--limit", "-1"],
    ["x", "--limit", "5.0"],
    ["x", "--limit", "9" * 5000],
    ["x", "--lineage", "logical"],
    ["x", "--lineage", "Logical"],
    ["x", "--lineage=sing"],
    ["x", "--title", "-x", "--min-cost", "-1"],
    ["x", "--title", " "],
    ["x", "--title", "\udce9"],
    ["--dry-run", "x", "--stamp", "--raw", "--no-manifest"],
    ["x", "-n", "--all", "--recap", "--content", "--quick"],
    ["x", "y", "--explain", "z"],
    ["--level", "tokens", "x", "-o", "y", "--also=all", "--also", "ips"],
    ["x", "--level", "none"],
]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_without_click_is_what_click_would_read(name: str) -> None:
    """To be spared its loading, a command reads plain words itself; it must never take them for anything else."""
    read = 0
    for words in WORDS:
        for given in (words, words[1:]):
            values = declared(name).read(given)
            if values is not None:
                assert (given, values) == (given, _command(name).make_context(name, list(given)).params)
                read += 1
    assert read > 4


@pytest.mark.parametrize(("name", "spelling"), VALUED, ids=[f"{name} {spelling}" for name, spelling in VALUED])
def test_every_option_is_read_without_click(name: str, spelling: str) -> None:
    option = next(param for param in declared(name).params if spelling in param.spellings)
    word = option.choices[-1] if option.choices else "7"
    values = declared(name).read([*NEEDED.get(name, []), spelling, word])

    assert values is not None
    assert values[option.name] in (word, (word,), 7)


def test_there_are_options_to_test() -> None:
    assert {"--from", "--session-id", "--limit", "--format", "--lineage"} <= {spelling for _, spelling in VALUED}


@pytest.mark.parametrize(("name", "spelling"), VALUED, ids=[f"{name} {spelling}" for name, spelling in VALUED])
def test_an_empty_value_is_a_usage_error(satchel: Callable[..., Any], story: object, name: str, spelling: str) -> None:
    """Upstream took `--source ""` for no filter at all, and pruned everything that had ended."""
    done = satchel(name, *NEEDED.get(name, []), spelling, "")

    assert (2, "") == (done.status, done.out)
    assert spelling in done.err


@pytest.mark.parametrize(("name", "words"), [(name, [""]) for name in ("export", "show", "verify", "redact", "scan")], ids=str)
def test_an_empty_argument_is_a_usage_error(satchel: Callable[..., Any], story: object, name: str, words: list[str]) -> None:
    done = satchel(name, *words)

    assert (2, "") == (done.status, done.out)
    assert "is empty" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_every_option_does_and_shows_an_example(satchel: Callable[..., Any], name: str) -> None:
    done = satchel(name, "--help")

    assert (0, "") == (done.status, done.err)
    assert f"Example: satchel {name}" in done.out
    undocumented = [param.name for param in _command(name).params if isinstance(param, click.Option) and not param.help]
    assert [] == undocumented
    assert (_command(name).help or "").strip()


def test_help_lists_every_command_with_its_own_summary(satchel: Callable[..., Any]) -> None:
    done = satchel("--help")

    assert [] == [name for name in COMMANDS if f"\n  {name} " not in done.out]


def test_every_example_is_a_command_that_can_be_given(satchel: Callable[..., Any]) -> None:
    import shlex

    for name in COMMANDS:
        words = shlex.split((_command(name).epilog or "").removeprefix("Example: satchel "))
        assert name == words[0]
        # Only the words are looked at: what they name is not here.
        _command(name).make_context(name, words[1:])


@pytest.mark.parametrize(
    ("given", "meant"), [("lst", "list"), ("exprot", "export"), ("stat", "stats"), ("doctr", "doctor"), ("verfy", "verify")]
)
def test_an_unknown_command_is_answered_with_the_nearest(satchel: Callable[..., Any], given: str, meant: str) -> None:
    done = satchel(given)

    assert (2, "") == (done.status, done.out)
    assert f"there is no command '{given}'; did you mean {meant}?" in done.err


def test_an_unknown_command_like_no_other_gets_no_suggestion(satchel: Callable[..., Any]) -> None:
    done = satchel("xyzzy")

    assert 2 == done.status
    assert "did you mean" not in done.err


def test_no_command_shows_the_help_and_is_a_usage_error(satchel: Callable[..., Any]) -> None:
    done = satchel()

    assert (2, "") == (done.status, done.out)
    assert done.err.startswith("Usage: satchel")
    assert "export" in done.err


def test_an_unknown_option_is_answered_with_the_way_to_the_help(satchel: Callable[..., Any]) -> None:
    done = satchel("list", "--sorce", "cli")

    assert 2 == done.status
    assert "--source" in done.err
    assert "Try 'satchel list --help'" in done.err


def test_the_version_is_told_on_standard_output(satchel: Callable[..., Any]) -> None:
    import satchel as package

    done = satchel("--version")

    assert (0, f"satchel {package.__version__}\n", "") == done


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["export"], "name an OUTPUT"),
        (["export", "out.jsonl", "--only", "tool-calls"], "--only takes user-prompts"),
        (["export", "out.jsonl", "--only", "user-prompts", "--format", "nope"], "goes with the formats jsonl and md"),
        (["export", "out.jsonl", "--format", "nope"], "there is no writer"),
        (["export", "out.jsonl", "--lineage", "both"], "--lineage"),
        (["export", "-", "--json"], "--json prints a summary"),
        (["export", "out.jsonl", "--newer-than", "1d", "--older-than", "2d"], "no moment lies between"),
        (["export", "out.jsonl", "--min-messages", "5", "--max-messages", "4"], "nothing can match"),
        (["export", "out.jsonl", "--older-than", "soon"], "--older-than takes"),
        (["export", "out.jsonl", "--min-cost", "cheap"], "takes a number"),
        (["export", "out.jsonl", "second.jsonl"], "unexpected extra argument"),
        (["list", "--limit", "-1"], "--limit"),
        (["list", "--limit", "few"], "--limit"),
        (["list", "--source", "cli", "--exclude-source", "cli"], "nothing can match"),
        (["list", "--profile", "nobody"], "there is no profile 'nobody'"),
        (["stats", "--min-tokens", "2.5"], "whole number"),
        (["show"], "Missing argument 'ID'"),
        (["show", "x", "--recap", "--all"], "choose one"),
        (["show", "@session:default/"], "names no session"),
        (["verify"], "Missing argument 'PATH'"),
        (["verify", "x", "--from", "hermes"], "give --source too"),
        (["verify", "x", "--profile", "all"], "give --source too"),
        (["redact"], "Missing argument 'PATH'"),
        (["scan"], "name a file or a folder"),
        (["doctor", "--profile", "nobody"], "there is no profile 'nobody'"),
        (["formats", "extra"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_mean_anything_is_a_usage_error(
    satchel: Callable[..., Any], story: object, words: list[str], why: str
) -> None:
    done = satchel(*words)

    assert (2, "") == (done.status, done.out)
    assert why in done.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["list", "--from", "/nowhere/state.db"], "does not exist"),
        (["show", "nothing-like-it"], 'no session "nothing-like-it"'),
        (["export", "out.jsonl", "--session-id", "nothing-like-it"], 'no session "nothing-like-it"'),
        (["verify", "nowhere.jsonl"], "nowhere.jsonl"),
        (["stats", "--from", "."], "holds no session store"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_not_there_is_one_sentence_and_a_failure(
    satchel: Callable[..., Any], story: object, words: list[str], why: str
) -> None:
    done = satchel(*words)

    assert (1, "") == (done.status, done.out)
    assert why in done.err.splitlines()[-1]


@pytest.mark.parametrize("name", ["list", "stats", "show", "export"])
def test_without_any_store_a_sentence_says_where_it_looked(satchel: Callable[..., Any], name: str) -> None:
    done = satchel(name, *NEEDED.get(name, []))

    assert (1, "") == (done.status, done.out)
    assert "no session store was found" in done.err
    assert "no-home" in done.err
    assert "--from" in done.err


def test_an_error_in_the_program_itself_is_one_sentence_without_a_trace(
    satchel: Callable[..., Any], story: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the tide turned\x1b[2J")

    monkeypatch.setattr("satchel.views.listing", broken)
    done = satchel("list")

    assert (1, "") == (done.status, done.out)
    assert "an error in Satchel itself: RuntimeError: the tide turned\\x1b[2J" in done.err


def test_debug_shows_the_place_and_keeps_the_status(process: Callable[..., Any], tmp_path: Any) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "satchel", "list", "--from", str(tmp_path / "none"), "--debug"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert "Traceback" in done.stderr
    assert "does not exist" in done.stderr.splitlines()[-1]

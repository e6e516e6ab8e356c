"""What a listener of the command line prints of a flood of problems, and of texts that look like markup or commands."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.advice import address
from satchel.cli._output import Teller, print_facts
from satchel.cli.doctor import _paragraph
from satchel.events import Event, Problem, Progress
from satchel.sources import Source

ODD = "id :smile: [bold]red[/bold] 'x'"


def _told(capfd: pytest.CaptureFixture[str], events: list[Event], *, quiet: bool = False, log_json: bool = False) -> list[str]:
    with Teller(quiet=quiet, log_json=log_json) as tell:
        for event in events:
            tell(event)
    return capfd.readouterr().err.splitlines()


@pytest.mark.parametrize(("severity", "told"), [("loss", 20), ("warning", 5)])
def test_problems_that_differ_in_an_id_are_of_one_kind(capfd: pytest.CaptureFixture[str], severity: Any, told: int) -> None:
    """A store with one fault in each of its ten thousand sessions filled the terminal with ten thousand lines."""
    problems: list[Event] = [
        Problem(f"session-{n}", f"row {n} of 'table {n}' refers to s_{n:x}0, which is gone", severity, 1) for n in range(1000)
    ]
    lines = _told(capfd, problems)

    assert told + 1 == len(lines)
    assert lines[-1].startswith(f"satchel: … and {1000 - told} more like it: row 0 of")
    assert 1000 == len(_told(capfd, problems, log_json=True))
    assert ([] if severity == "warning" else lines) == _told(capfd, problems, quiet=True)


def test_no_end_of_kinds_is_an_end_of_lines(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["".join(letters) for letters in itertools.islice(itertools.product(string.ascii_lowercase, repeat=3), 5000)]
    lines = _told(capfd, [Problem("a place", f"{word} is odd", "loss", 1) for word in words])

    assert 201 == len(lines)
    assert "satchel: … and 4,800 of other kinds; --log-json tells every one" == lines[-1]


def test_a_progress_bar_makes_no_pictures_and_no_colours_of_what_is_told(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a bar is shown, messages go through its console, which took `:smile:` for a picture."""
    with Teller(quiet=False, log_json=False) as tell:
        tell._draw = True
        tell(Progress(0, 10))
        tell(Problem(ODD, "it is odd"))
    err = capfd.readouterr().err

    assert f"satchel: warning: {ODD}: it is odd" in err


def test_a_fact_with_a_line_break_makes_no_second_fact(capfd: pytest.CaptureFixture[str]) -> None:
    print_facts([("search index", "messages_fts\n  damage  none\x1b[2J"), ("end", "x")])
    _paragraph("a table named x\n  * all is well", "  * ", "")

    assert [
        "  search index  messages_fts damage  none\\x1b[2J",
        "  end           x",
        "  * a table named x * all is well",
    ] == capfd.readouterr().out.splitlines()


# ---------------------------------------------------------------------------------------------------------- suggested commands


@pytest.mark.parametrize(
    ("name", "shown"),
    [("-x.jsonl", "./-x.jsonl"), ("--content", "./--content"), ("a b.jsonl", "'a b.jsonl'"), ("-it's", "'./-it'\"'\"'s'")],
)
def test_the_command_that_checks_an_export_can_be_copied(satchel: Callable[..., Any], story: Path, name: str, shown: str) -> None:
    """`satchel verify -x.jsonl` is no command that works."""
    done = satchel("export", "--", name)

    assert 0 == done.status
    assert f"satchel verify {shown}\n" in done.err


@pytest.mark.parametrize(
    ("path", "profile", "options"),
    [
        ("-odd.db", None, "--from ./-odd.db"),
        ("/srv/my store.db", None, "--from '/srv/my store.db'"),
        ("/srv/hermes/profiles/-p/state.db", "-p", "--profile=-p"),
        ("/srv/hermes/profiles/a b/state.db", "a b", "--profile 'a b'"),
        ("/srv/hermes/state.db", None, ""),
    ],
)
def test_the_options_that_name_a_store_can_be_copied(path: str, profile: str | None, options: str) -> None:
    assert options == address(Source("hermes", Path(path), profile), Path("/srv/hermes"))

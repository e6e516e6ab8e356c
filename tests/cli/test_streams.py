"""Standard output carries data and nothing else, standard error the rest, and neither moves a terminal or breaks a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hermes_cases import write
from hermes_parts import Case, TextBytes, user

ESCAPE = b"\x1b"
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams")


def _start(*words: object, **options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen([sys.executable, "-m", "satchel", *map(str, words)], **options)


# ---------------------------------------------------------------------------------------------------------- apart


@pytest.mark.parametrize(
    "words",
    [["list"], ["stats"], ["show", "20260302_083000_3f9a1c"], ["export", "-"], ["doctor"], ["formats"]],
    ids=lambda words: words[0],
)
def test_data_and_messages_go_their_own_ways(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    done = satchel(*words)

    assert 0 == done.status
    assert done.out
    assert "satchel: " not in done.out
    assert all(line.startswith("satchel: ") for line in done.err.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["stats"],
        ["show", "20260302_083"],
        ["show", "20260302_083", "--recap"],
        ["doctor"],
        ["formats"],
        ["export", "-n"],
    ],
    ids=lambda words: " ".join(words),
)
def test_json_is_one_line_of_json(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    done = satchel(*words, "--json")

    assert 0 == done.status
    assert 1 == done.out.count("\n")
    assert json.loads(done.out)


def test_json_of_an_export_and_of_its_verification(satchel: Callable[..., Any], story: Path) -> None:
    written = json.loads(satchel("export", "out.jsonl", "--json").out)
    verified = json.loads(satchel("verify", "out.jsonl", "--json").out)

    assert (14, 74, 0) == (written["sessions"], written["messages"], written["lost"])
    assert (True, 14, []) == (verified["ok"], verified["sessions"], verified["findings"])


@pytest.mark.parametrize(
    "words", [["list"], ["stats"], ["show", "20260302_083"], ["export", "out.jsonl"]], ids=lambda words: words[0]
)
def test_quiet_says_nothing_when_all_is_well(satchel: Callable[..., Any], story: Path, words: list[str]) -> None:
    assert "" == satchel(*words, "--quiet").err


def test_quiet_still_tells_errors(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("show", "nothing-like-it", "--quiet")

    assert 1 == done.status
    assert "no session" in done.err


def test_problems_of_one_kind_are_told_five_times_and_then_counted(satchel: Callable[..., Any], tmp_path: Path) -> None:
    case = Case()
    for number in range(9):
        case.add(f"torn-{number}", "2026-04-02 10:00:00", [user(TextBytes(b"caf\xe9"))])
    store = write(tmp_path / "torn" / "state.db", case, fts=False)
    done = satchel("export", "-", "--from", store)
    logged = satchel("export", "-", "--from", store, "--log-json")

    assert 5 == sum("warning: " in line and "not valid UTF-8" in line for line in done.err.splitlines())
    assert 1 == sum("… and 4 more like it: " in line for line in done.err.splitlines())
    assert 9 == sum("not valid UTF-8" in line for line in logged.err.splitlines())


# ---------------------------------------------------------------------------------------------------------- the log


def test_the_log_is_json_lines_and_holds_no_text_of_a_transcript(satchel: Callable[..., Any], odd: Path) -> None:
    said = ["An ordinary sentence", "Two parts,", "violet", "Look at my title", "Call your tools"]
    for words in (["export", "out.jsonl"], ["list"], ["stats"], ["show", "odd-calls"], ["doctor"]):
        done = satchel(*words, "--log-json")

        assert 0 == done.status
        events = [json.loads(line) for line in done.err.splitlines() if not line.startswith("satchel: ")]
        assert "store_opened" in {event["event"] for event in events}
        assert [] == [text for text in said if text in done.err]


def test_the_log_of_an_export_tells_every_session_and_the_totals(satchel: Callable[..., Any], story: Path) -> None:
    done = satchel("export", "out.jsonl", "--log-json")
    events = [json.loads(line) for line in done.err.splitlines()]

    assert 14 == sum(event["event"] == "session_finished" for event in events)
    totals = events[-1]
    assert ("totals", 14, 74, 0) == (totals["event"], totals["sessions"], totals["messages"], totals["lost"])


# ---------------------------------------------------------------------------------------------------------- - and pipes


def test_standard_output_takes_an_export_and_standard_input_gives_it_back(process: Callable[..., Any], story: Path) -> None:
    written = process("export", "-")
    again = process("export", "-", "--from", "-", stdin=written.out)
    listed = process("list", "--from", "-", "--json", "--limit", "0", "--include-archived", stdin=written.out)

    assert (0, 0, 0) == (written.status, again.status, listed.status)
    assert 14 == len(written.out.splitlines())
    assert written.out == again.out
    assert 14 == len(json.loads(listed.out))
    assert b"sha256 " in written.err


def test_what_standard_input_was_kept_in_is_gone_afterwards(process: Callable[..., Any], story: Path, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    done = process("stats", "--from", "-", stdin=story.read_bytes(), env={"TMPDIR": str(spool)})

    assert 0 == done.status
    assert b"Total sessions: 14" in done.out
    assert [] == list(spool.iterdir())


@pytest.mark.parametrize("given", [b"", b"neither this nor that\n"], ids=["nothing", "text"])
def test_standard_input_of_no_format_is_a_failure(process: Callable[..., Any], given: bytes) -> None:
    done = process("list", "--from", "-", stdin=given)

    assert (1, b"") == (done.status, done.out)
    assert b"standard input holds nothing that Satchel reads" in done.err


@POSIX
@pytest.mark.parametrize(
    "words", [["list", "--limit", "0"], ["export", "-"], ["show", "odd-calls"], ["show", "odd-calls", "--json"]], ids=" ".join
)
def test_a_closed_pipe_ends_the_run_without_a_word(hermes_db: Callable[..., Path], words: list[str]) -> None:
    store = hermes_db(case="odd")
    reading, writing = os.pipe()
    os.close(reading)
    with _start(*words, "--quiet", "--from", store, stdout=writing, stderr=subprocess.PIPE) as running:
        os.close(writing)
        err = running.communicate(timeout=60)[1]

    assert (1, b"") == (running.returncode, err)


@POSIX
def test_a_closed_standard_output_is_a_failure_and_a_closed_standard_error_is_none(story: Path) -> None:
    shell = f'exec "{sys.executable}" -m satchel "$@"'
    closed = subprocess.run(["sh", "-c", shell + " >&-", "sh", "list"], capture_output=True, check=False, timeout=60)
    silent = subprocess.run(["sh", "-c", shell + " 2>&-", "sh", "list"], capture_output=True, check=False, timeout=60)

    assert 1 == closed.returncode
    assert closed.stderr.endswith(b"satchel: the output: Bad file descriptor\n")
    assert 0 == silent.returncode
    assert 15 == len(silent.stdout.splitlines())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["list"], ["export", "-"]], ids=lambda words: words[0])
def test_a_full_disk_behind_standard_output_is_a_failure(story: Path, words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "satchel", *words], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )

    assert 1 == done.returncode
    assert done.stderr.splitlines()[-1].endswith((b"No space left on device", b"the disk is full"))
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_a_locale_without_the_letters_gets_escapes_and_json_stays_json(process: Callable[..., Any], story: Path) -> None:
    latin = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    shown = process("show", "20260304_190000_7e1e63a0", env=latin)
    listed = process("list", "--json", "--limit", "0", env=latin)

    assert (0, 0) == (shown.status, listed.status)
    assert b"\\u6e80\\u6f6e" in shown.out
    assert "満潮はいつ？" in {row["title"] for row in json.loads(listed.out.decode("utf-8"))}


# ---------------------------------------------------------------------------------------------------------- terminals


def _on_a_terminal(*words: object, columns: int = 80, env: dict[str, str] | None = None) -> bytes:
    """Return what a command prints on a terminal of so many columns."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    told = {**known, "TERM": "xterm-256color", **(env or {})}
    with _start(*words, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=told) as running:
        os.close(slave)
        out = b"".join(_chunks(master))
        assert 0 == running.wait(60)
    os.close(master)
    return out.replace(b"\r\n", b"\n")


def _chunks(master: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            return
        if not data:
            return
        yield data


@POSIX
@pytest.mark.parametrize("words", [["list"], ["show", "20260302_083"], ["doctor"]], ids=lambda words: words[0])
def test_colours_show_on_a_terminal_unless_they_are_not_wanted(story: Path, words: list[str]) -> None:
    assert ESCAPE in _on_a_terminal(*words)
    assert ESCAPE not in _on_a_terminal(*words, env={"NO_COLOR": "1"})
    assert ESCAPE not in _on_a_terminal(*words, env={"TERM": "dumb"})


@POSIX
@pytest.mark.parametrize(
    "words",
    [["list", "--limit", "0"], ["show", "20260303_0910", "--all"], ["show", "20260303_0910", "--recap"], ["stats"], ["formats"]],
    ids=lambda words: " ".join(words),
)
def test_no_line_is_wider_than_the_terminal(story: Path, words: list[str]) -> None:
    from satchel.naming import display_width

    out = _on_a_terminal(*words, columns=80, env={"NO_COLOR": "1"}).decode()

    assert out.count("\n") > 3
    assert [] == [line for line in out.splitlines() if display_width(line) > 80]


# ---------------------------------------------------------------------------------------------------------- interrupts


@POSIX
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
@pytest.mark.parametrize("target", ["out.jsonl", "folder/"])
def test_an_interrupted_export_leaves_nothing_under_a_final_name(
    hermes_db: Callable[..., Path], tmp_path: Path, how: signal.Signals, target: str
) -> None:
    """
    The log goes into a pipe that nobody empties, so the run stands still in the middle of its work when the signal comes.
    """
    fcntl = pytest.importorskip("fcntl")
    store = hermes_db(case="big")
    folder = tmp_path / "there"
    folder.mkdir()
    reading, writing = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with _start("export", target, "--from", store, "--log-json", cwd=folder, stdout=subprocess.PIPE, stderr=writing) as running:
        os.close(writing)
        with os.fdopen(reading, "rb") as log:
            for line in log:
                if b"session_finished" in line:
                    break
            running.send_signal(how)
            rest = log.read()
        out = running.communicate(timeout=60)[0]

    assert 128 + how == running.returncode
    assert b"" == out
    assert b'"event":"failed","message":"interrupted' in rest
    assert b"Traceback" not in rest
    assert b'"totals"' not in rest
    assert [] == [path for path in folder.rglob("*") if path.is_file()]


@POSIX
def test_an_interrupt_removes_the_private_copy(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    """A store whose WAL has lost its -shm is read from a copy, which has no name while it is read."""
    fcntl = pytest.importorskip("fcntl")
    store = hermes_db(case="big")
    store.with_name("state.db-wal").write_bytes(b"no frame in here")
    spool = tmp_path / "spool"
    spool.mkdir()
    reading, writing = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with _start(
        "export", "out.jsonl", "--from", store, "--log-json", stderr=writing, env={**os.environ, "TMPDIR": str(spool)}
    ) as running:
        os.close(writing)
        with os.fdopen(reading, "rb") as log:
            assert b"private copy" in log.readline() + log.readline()
            copied = list(spool.rglob("state.db"))
            running.send_signal(signal.SIGINT)
            log.read()
        running.communicate(timeout=60)

    assert (130, []) == (running.returncode, copied)
    assert [] == list(spool.rglob("*"))

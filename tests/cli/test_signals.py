"""A signal at any moment ends the run with its status and one line at the most; and what ends is cleaned up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

# Does something when a module is about to be loaded: a moment that is met every time.
AT = """
import os, signal, sys, time
def kill(how):
    os.kill(os.getpid(), how)
class Fallen:
    def __del__(self):
        kill(signal.SIGINT)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            {what}
sys.meta_path.insert(0, Finder())
sys.argv = ["satchel", "list"]
from satchel.__main__ import main
main()
"""


def _run(module: str, what: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", AT.format(module=module, what=what)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1
    assert "" == done.stdout
    return done


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    "module", ["satchel.cli", "satchel.cli.declare", "satchel.cli.list", "satchel.events", "satchel.views", "apsw"]
)
def test_a_signal_while_the_program_loads_ends_it_without_a_traceback(story: Path, module: str, how: str) -> None:
    """Loading takes longer than most runs, and Ctrl-C meanwhile showed the inside of whatever was being loaded."""
    done = _run(module, f"kill(signal.{how})")

    assert 128 + getattr(signal, how) == done.returncode


@pytest.mark.parametrize("module", ["satchel.stopping", "signal"])
def test_ctrl_c_before_signals_are_watched_shows_nothing_either(module: str) -> None:
    # By then the modules are loaded: they are forgotten, so that they are looked for.
    code = AT.format(module=module, what="os.kill(os.getpid(), 2)").replace(
        "from satchel", "del sys.modules['signal']\nfrom satchel"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)

    assert (130, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_a_second_signal_does_not_cut_short_what_the_first_one_began(story: Path) -> None:
    done = _run("satchel.views", "try: kill(signal.SIGINT)\n            finally: kill(signal.SIGTERM)")

    assert 130 == done.returncode
    assert "satchel: interrupted; nothing half-written is under its final name\n" == done.stderr


def test_whoever_insists_ends_the_process_at_once(story: Path) -> None:
    done = _run(
        "satchel.views", "try: kill(signal.SIGINT)\n            finally: kill(signal.SIGTERM); kill(signal.SIGTERM); print(1)"
    )

    assert (143, "") == (done.returncode, done.stderr)


def test_a_signal_that_falls_into_a_destructor_is_not_lost(story: Path) -> None:
    """Python drops an exception there and prints where it came from; so the run went on."""
    done = _run("satchel.views", "Fallen(); [time.sleep(0.01) for _ in range(3000)]")

    assert 130 == done.returncode


def test_what_was_to_be_ignored_stays_ignored(story: Path) -> None:
    code = AT.format(module="satchel.views", what="kill(signal.SIGHUP)")
    code = code.replace("class Finder", "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nclass Finder")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)

    assert (0, True) == (done.returncode, b"Tide table" in done.stdout)


# ---------------------------------------------------------------------------------------------------------- the end


ENDING = "import atexit, sys\natexit.register(print, 'at the end')\n{}\nfrom satchel.__main__ import main\n{}"


def test_what_is_registered_for_the_end_is_done_and_printed() -> None:
    code = ENDING.format("sys.argv = ['satchel', 'formats']", "main()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (0, "at the end") == (done.returncode, done.stdout.splitlines()[-1])


def test_a_profiler_sees_the_usual_end() -> None:
    code = ENDING.format(
        "sys.argv = ['satchel', 'nothing']; sys.setprofile(lambda *_: None)",
        "try: main()\nexcept SystemExit as end: sys.setprofile(None); print(end.code)",
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert (0, ["2", "at the end"]) == (done.returncode, done.stdout.splitlines())


@pytest.mark.parametrize(("words", "status"), [(["formats"], 0), (["show"], 2), (["verify", "nothing"], 1)])
def test_the_status_survives_the_end(words: list[str], status: int) -> None:
    done = subprocess.run([sys.executable, "-m", "satchel", *words], capture_output=True, check=False, timeout=60)

    assert status == done.returncode

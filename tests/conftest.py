"""What all tests share: sample databases, golden files, real inputs and real programs where there are any."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hermes_cases import build
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# No test looks at the time it took, and a loaded machine is no fault of the code.
settings.register_profile("satchel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("satchel")

# A shell starts what runs in the background with Ctrl-C ignored, and the programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture(autouse=True, scope="session")
def _no_real_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the homes of the agents that whoever runs the tests may use."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        for name in (
            "HERMES_HOME",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "HF_HOME",
            "HF_TOKEN",
            "HUGGING_FACE_HUB_TOKEN",
            "NO_COLOR",
        ):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def hermes_db(tmp_path: Path) -> Callable[..., Path]:
    """
    Return a function that builds a Hermes database in a folder of its own under `tmp_path`, and returns its path.

    It takes the arguments of `hermes_cases.build`: `schema`, `case`, `migrated_from`, `fts`.
    """
    made = 0

    def make(schema: int = 23, case: str = "story", *, migrated_from: int | None = None, fts: bool = True) -> Path:
        nonlocal made
        made += 1
        return build(tmp_path / f"hermes-{made}" / "state.db", schema=schema, case=case, migrated_from=migrated_from, fts=fts)

    return make


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str | bytes], None]:
    """Return a function that compares text or bytes with a golden file; with --accept it writes the file instead."""
    accept = bool(request.config.getoption("--accept"))

    def compare(path: Path, actual: str | bytes) -> None:
        data = actual.encode() if isinstance(actual, str) else actual
        if accept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            return
        if not path.exists():
            pytest.fail(f"there is no golden file {path}; look at the output, then write it with --accept")
        expected = path.read_bytes()
        if isinstance(actual, str):
            assert expected.decode() == actual, f"{path} differs; if the new output is right, run with --accept"
        assert expected == data, f"{path} differs; if the new output is right, run with --accept"

    return compare


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real inputs that are no part of the repository, or skip."""
    given = os.environ.get("SATCHEL_SHARED")
    folder = Path(given) if given else ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("no folder of real inputs (SATCHEL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def hermes_python() -> Path:
    """Return the Python that has hermes-agent, or skip."""
    return _peer("SATCHEL_PEER_HERMES")


@pytest.fixture(scope="session")
def datasets_python() -> Path:
    """Return the Python that has datasets and teich, or skip."""
    return _peer("SATCHEL_PEER_DATASETS")


@pytest.fixture(scope="session")
def readers_python() -> Path:
    """Return the Python that has claude-code-log and agentsview, or skip."""
    return _peer("SATCHEL_PEER_READERS")


def _peer(variable: str) -> Path:
    given = os.environ.get(variable)
    if given and Path(given).exists():
        return Path(given)
    if os.environ.get("SATCHEL_INTEROP") == "required":
        pytest.fail(f"{variable} names no Python; `make interop` makes one")
    pytest.skip(f"no such program here ({variable}); `make interop` brings it")

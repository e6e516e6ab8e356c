"""Claude Code's reader keeps what every reader promises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from claude_lines import SESSION, Log, entries, written
from hypothesis import given
from hypothesis import strategies as st

from satchel.contracts import Record
from satchel.formats.claude_code import reader
from satchel.formats.claude_code.decode import decode
from satchel.testing import ReaderContract

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "claude_code" / "home"


class TestClaudeReader(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        if not FIXTURE.is_dir():
            pytest.skip("the fixtures are not here")
        return Path(shutil.copytree(FIXTURE, tmp_path / "claude"))


class TestOneTranscript(ReaderContract):
    reader = reader

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        log = Log()
        log.user("Go.")
        log.call("Read", "toolu_1")
        log.result("toolu_1")
        log.call("Read", "toolu_2")
        return written(tmp_path / "logs" / f"{SESSION}.jsonl", log.lines)


# ---------------------------------------------------------------------------------------------------------- any lines at all

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "content", "name"]), inner)
    ),
    max_leaves=8,
)
_IDS = st.sampled_from([f"{n:08x}-0000-4000-8000-000000000000" for n in range(4)]) | st.text(max_size=3)
_BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "odd"])},
    optional={
        "text": st.text(max_size=8) | _JSON,
        "id": st.sampled_from(["t1", "t2"]) | _JSON,
        "tool_use_id": st.sampled_from(["t1", "t2"]) | _JSON,
        "name": st.text(max_size=3) | _JSON,
        "thinking": st.text(max_size=4) | _JSON,
        "content": _JSON,
        "source": _JSON,
    },
)
_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant"]) | _JSON,
        "id": st.sampled_from(["m1", "m2", "m3"]) | _JSON,
        "content": st.text(max_size=8) | st.lists(_BLOCK, max_size=3) | _JSON,
        "usage": st.fixed_dictionaries({}, optional={"output_tokens": _JSON, "cache_creation": _JSON}) | _JSON,
        "stop_reason": _JSON,
        "model": _JSON,
    },
)
_TYPES = st.sampled_from(
    ["user", "assistant", "system", "attachment", "progress", "queue-operation", "summary", "tool_use", "tool_result"]
)
_LINE = st.fixed_dictionaries(
    {"type": _TYPES | _JSON},
    optional={
        "message": _MESSAGE | _JSON,
        "uuid": _IDS | _JSON,
        "parentUuid": _IDS | _JSON,
        "timestamp": st.sampled_from(["2026-02-01T10:00:00.000Z", "2026-02-01T10:00:01.000Z"]) | _JSON,
        "requestId": st.sampled_from(["r1", "r2"]) | _JSON,
        "isSidechain": st.booleans() | _JSON,
        "isMeta": _JSON,
        "attachment": st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": _JSON | st.lists(_BLOCK, max_size=2)})
        | _JSON,
        "operation": st.sampled_from(["enqueue", "dequeue", "remove", "popAll"]) | _JSON,
        "content": st.text(max_size=8) | _JSON,
        "subtype": st.sampled_from(["compact_boundary", "local_command"]) | _JSON,
        "sessionId": st.just(SESSION) | _JSON,
        "forkedFrom": _JSON,
        "origin": _JSON,
        "output": _JSON,
        "display": _JSON,
        "toolUseResult": _JSON,
    },
)


@given(lines=st.lists(_LINE, max_size=12))
def test_any_lines_give_every_record_in_one_entry_by_the_first(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, object]]
) -> None:
    known = Log().user("Known.")
    file = written(tmp_path_factory.mktemp("any") / f"{SESSION}.jsonl", [known, *lines])

    held = [[int(record.key) for record in entry.records] for entry in entries(file)]

    assert list(range(1, len(lines) + 2)) == sorted(number for numbers in held for number in numbers)
    assert held == sorted(sorted(numbers) for numbers in held)


@given(lines=st.lists(_LINE, max_size=12))
def test_any_records_decode_without_their_file(lines: list[dict[str, object]]) -> None:
    records = [Record("line", number, line) for number, line in enumerate(lines, 1)]

    held = [[record.key for record in entry.records] for entry in decode(records)]

    assert list(range(1, len(lines) + 1)) == sorted(number for numbers in held for number in numbers)

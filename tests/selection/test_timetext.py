import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from satchel.errors import UsageError
from satchel.timetext import age, iso_utc, local, parse_moment

NOW = 1_783_258_200.0
"""2026-07-05 13:30:00 UTC."""


def moment(text: str) -> float:
    return parse_moment(text, now=NOW, name="--before")


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nine hours before UTC, the whole year."""
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process cannot be changed here")
    monkeypatch.setenv("TZ", "XST-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("5h", 18_000),
        ("2d", 172_800),
        ("1w", 604_800),
        ("90", 7_776_000),
        ("0", 0),
        ("2026", 175_046_400),
        (".5", 43_200),
        ("1.5h", 5400),
        ("2.", 172_800),
        ("45 s", 45),
        ("1 sec", 1),
        ("2secs", 2),
        ("1 second", 1),
        ("3 Seconds", 3),
        ("1 min", 60),
        ("2 mins", 120),
        ("1minute", 60),
        ("30 MINUTES", 1800),
        ("1 hr", 3600),
        ("2 hrs", 7200),
        ("1 hour", 3600),
        ("2 hours", 7200),
        ("1 day", 86_400),
        ("2 days", 172_800),
        ("1 wk", 604_800),
        ("2 wks", 1_209_600),
        ("1 week", 604_800),
        ("2 weeks", 1_209_600),
        ("  5h  ", 18_000),
    ],
)
def test_a_duration_is_that_long_before_now(text: str, seconds: float) -> None:
    assert NOW - seconds == moment(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-05T14:30:00Z", "2026-07-05T14:30:00"),
        ("2026-07-05 14:30Z", "2026-07-05T14:30:00"),
        ("2026-07-05t14:30z", "2026-07-05T14:30:00"),
        ("2026-07-05 14:30 +02:00", "2026-07-05T12:30:00"),
        ("2026-07-05T14:30:00-0500", "2026-07-05T19:30:00"),
        ("2026-07-05T14:30+09", "2026-07-05T05:30:00"),
        ("2026-07-05T14:30:00.25Z", "2026-07-05T14:30:00.250000"),
        ("2026-07-05T14:30:00,25Z", "2026-07-05T14:30:00.250000"),
        ("2026-07-05T14:30:00.123456789Z", "2026-07-05T14:30:00.123456"),
    ],
)
def test_a_time_with_a_zone_is_the_same_everywhere(text: str, expected: str) -> None:
    assert datetime.fromisoformat(expected).replace(tzinfo=UTC).timestamp() == moment(text)


@pytest.mark.usefixtures("tokyo")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-05", "2026-07-04T15:00:00Z"),
        ("2026-07-05 14:30", "2026-07-05T05:30:00Z"),
        ("2026-07-05T14:30:15", "2026-07-05T05:30:15Z"),
    ],
)
def test_a_time_without_a_zone_is_local(text: str, expected: str) -> None:
    assert expected == iso_utc(moment(text), whole=True)


@pytest.mark.parametrize(
    "text",
    [
        "-5d",
        "+5d",
        "-1",
        "nan",
        "inf",
        "1e5",
        "5x",
        "1mo",
        "1y",
        "5d ago",
        "yesterday",
        "20260705",
        "2026-7-5",
        "2026-13-01",
        "2026-02-30",
        "2026-07-05 25:00",
        "2026-07-05 14",
        "2026-07-05x14:30",
        "2026-07-05Z",
        "2026-W27-1",
        "0000-01-01",
        "2026-07-05T14:30:00+99:00",
        "99999999999d",
        "9" * 400,
        "\uff15d",
        "5\u212a",
        "2026-07-05\0",
        "5d\n5d",
    ],
)
def test_nonsense_is_refused_by_name_and_value(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        moment(text)

    assert "--before" in caught.value.message
    assert repr(text[:60])[:-1] in caught.value.message
    assert "30m" in caught.value.message
    assert "2026-07-05 14:30" in caught.value.message
    assert caught.value.subject == "--before"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_value_is_asked_for(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--before needs a value: a duration"):
        moment(text)


@given(st.text(st.characters(codec=None, categories=None)) | st.text("0123456789-:+.TZ smhdw", max_size=30))
@example("0001-01-01")
@example("9999-12-31 23:59:59")
@example("9999-12-31T23:59:59-23:59")
@example("2026-07-05T14:30:00.Z")
def test_any_text_is_a_moment_or_a_usage_error(text: str) -> None:
    try:
        value = moment(text)
    except UsageError:
        return

    assert iso_utc(value)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1_768_005_404.123456, "2026-01-10T00:36:44.123456Z"),
        (1_768_005_404, "2026-01-10T00:36:44.000000Z"),
        (0, "1970-01-01T00:00:00.000000Z"),
        (-0.25, "1969-12-31T23:59:59.750000Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000000Z"),
        (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        (1.9999999, "1970-01-01T00:00:02.000000Z"),
    ],
)
def test_a_time_is_written_to_the_microsecond(seconds: float, expected: str) -> None:
    assert expected == iso_utc(seconds)


def test_whole_seconds_are_cut_not_rounded() -> None:
    assert iso_utc(1_768_005_404.999, whole=True) == "2026-01-10T00:36:44Z"


@given(st.floats(-62_135_596_800, 253_402_300_799))
def test_a_written_time_is_what_datetime_writes(seconds: float) -> None:
    expected = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    assert expected == iso_utc(seconds)


@pytest.mark.parametrize(
    "seconds",
    [None, 1e30, -1e30, 5e246, float("nan"), float("inf"), float("-inf"), 10**400, "1768005404", True, b"1", 253_402_300_800],
)
def test_an_absurd_time_is_shown_as_nothing(seconds: object) -> None:
    """Text and huge numbers stand in time columns of real stores, and made a preview fail."""
    assert iso_utc(seconds) == ""
    assert iso_utc(seconds, whole=True) == ""
    assert local(seconds) == ""
    assert age(seconds, NOW) == ""


@given(st.floats() | st.integers() | st.none())
def test_no_number_makes_a_time_text_fail(seconds: float | None) -> None:
    assert iso_utc(seconds) == "" or iso_utc(seconds).endswith("Z")
    assert local(seconds) == "" or len(local(seconds)) == 16
    assert isinstance(age(seconds, NOW), str)


@pytest.mark.usefixtures("tokyo")
def test_people_see_their_own_time() -> None:
    assert local(1_768_005_404.9) == "2026-01-10 09:36"


@pytest.mark.usefixtures("tokyo")
@pytest.mark.parametrize(
    ("past", "expected"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (7300, "2h ago"),
        (86_399, "23h ago"),
        (86_400, "yesterday"),
        (172_799, "yesterday"),
        (172_800, "2d ago"),
        (604_799, "6d ago"),
        (604_800, "2026-06-28"),
        (-30, "just now"),
        (-3600, "2026-07-05 23:30"),
    ],
)
def test_an_age_is_told_as_people_do(past: float, expected: str) -> None:
    assert expected == age(NOW - past, NOW)


def test_the_module_is_light() -> None:
    """A command that parses no date must not pay for `datetime`, nor for anything heavier."""
    code = "import sys; before = set(sys.modules); import satchel.timetext; print(*(set(sys.modules) - before))"
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout.split()

    assert "satchel.timetext" in loaded
    assert not {"datetime", "orjson", "click", "rich", "apsw"} & set(loaded)

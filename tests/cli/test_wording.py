"""Numbers, sizes and broken lines as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.naming import display_width
from satchel.wording import count, size, wrapped


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KB"),
        (13_002_342, "12.4 MB"),
        (5 << 30, "5.0 GB"),
        (3 << 40, "3.0 TB"),
    ],
)
def test_sizes(octets: int, text: str) -> None:
    assert text == size(octets)


def test_counts() -> None:
    assert ["0 days", "1 day", "1,204 days"] == [count(number, "day") for number in (0, 1, 1204)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("fits", ["fits"]),
        ("one two three four", ["one two", "three four"]),
        ("    then code goes on", ["    then", "code goes", "on"]),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", ["aaaaaaaaaa", "aaaaaaaaaa", "aaaa"]),
        ("満潮満潮満潮", ["満潮満潮満", "潮"]),
        ("a\n\nb", ["a", "", "b"]),
        ("\tx", ["    x"]),
        ("end   ", ["end"]),
    ],
)
def test_lines_are_broken_at_blanks_and_else_anywhere(text: str, lines: list[str]) -> None:
    assert lines == list(wrapped(text, 10))


@given(st.text(alphabet="ab 満\u0301\t\n—", max_size=200), st.integers(min_value=2, max_value=30))
def test_no_line_is_too_wide_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = list(wrapped(text, width))

    assert all(display_width(line) <= width for line in lines)
    assert "".join(text.split()) == "".join("".join(lines).split())


@given(st.text(alphabet="ab 満\t\n", max_size=100))
def test_without_a_width_lines_stay_as_they_are(text: str) -> None:
    assert [line.rstrip().expandtabs(4) for line in text.split("\n")] == list(wrapped(text, None))

"""Copies that compaction stored again are told apart from what a person says again."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from satchel.formats.carried import Carried, copies


def _flags(said: Iterable[str]) -> list[tuple[str, bool]]:
    """Return each message with whether it is a copy; a summary begins with a capital S."""
    carried: Carried[str] = Carried()
    said = list(said)
    out = [pair for item in said for pair in carried.take(item, says=item, summary=item.startswith("S"))]
    out += carried.end()
    assert [copy for _, copy in out] == list(copies((item, item.startswith("S")) for item in said))
    return out


def _said(said: str) -> str:
    """Return the messages that are no copies."""
    return " ".join(item for item, copy in _flags(said.split()) if not copy)


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("a b c", "a b c"),
        ("", ""),
        ("a", "a"),
        ("a b c d e S d e f", "a b c d e S f"),
        ("a b c d e S e f", "a b c d e S f"),
        ("a b c d e a b S d e f", "a b c d e S f"),
        ("a b c d e a S e", "a b c d e S"),
        ("a b c S f g", "a b c S f g"),
        ("a b c d S1 c d e f S2 e f g", "a b c d S1 e f S2 g"),
        ("a b c d a S1 c d e f a S2 e f g", "a b c d S1 e f S2 g"),
        ("S a b S2 b c", "S a b S2 c"),
        ("a b S1 S2 c", "a b S1 S2 c"),
    ],
)
def test_compaction(stored: str, said: str) -> None:
    assert said == _said(stored)


@pytest.mark.parametrize(
    "stored",
    [
        "a a a",
        "a b a b",
        "a b a b c a b",
        "go on go on go on",
        "a b ok c d S ok",
        "a ok b c S ok d",
        "a b S1 c b S2 x a",
    ],
)
def test_a_person_who_repeats_themselves_is_heard(stored: str) -> None:
    assert stored == _said(stored)


def test_what_follows_the_carried_tail_is_heard_even_if_it_was_said_before() -> None:
    assert "ok b c S ok d" == _said("ok b c S c ok d")
    assert "a ok S ok" == _said("a ok S ok ok")


def test_a_tail_whose_last_message_was_rewritten_is_still_a_tail() -> None:
    """Compaction may shorten what a tool gave back, so a copy of it is not equal."""
    assert [True, True, False] == [copy for _, copy in _flags(["a", "b", "c", "d", "S", "b", "c", "D"])[-3:]]


def test_a_tail_may_leave_messages_out() -> None:
    assert "a b c d e S f" == _said("a b c d e S b c e f")


def test_the_order_is_kept_while_a_repetition_is_held_back() -> None:
    stored = [*"abcabxabc", "S", "c", "y"]
    assert stored == [item for item, _ in _flags(stored)]


def test_nothing_is_held_back_at_the_end() -> None:
    for stored in ("a b a", "a b c S b", "a b c a b", "a b c d S b c"):
        assert stored == " ".join(item for item, _ in _flags(stored.split()))


def test_messages_are_held_back_only_while_they_repeat() -> None:
    carried: Carried[str] = Carried()
    assert [("a", False)] == carried.take("a", says="a", summary=False)
    assert [("b", False)] == carried.take("b", says="b", summary=False)
    assert [] == carried.take("a", says="a", summary=False)
    assert [("a", False), ("c", False)] == carried.take("c", says="c", summary=False)

"""What holds of every row of messages, however they repeat."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from satchel.formats.carried import Carried

_words = st.lists(st.sampled_from(["a", "b", "c", "d", "S1", "S2"]), max_size=30)


def _flags(said: list[str]) -> list[tuple[tuple[int, str], bool]]:
    carried: Carried[tuple[int, str]] = Carried()
    out = [p for place, word in enumerate(said) for p in carried.take((place, word), says=word, summary=word[0] == "S")]
    return out + carried.end()


@given(_words)
def test_nothing_is_lost_and_the_order_is_kept(said: list[str]) -> None:
    assert list(enumerate(said)) == [item for item, _ in _flags(said)]


@given(_words)
def test_a_copy_was_said_before_and_a_summary_is_none(said: list[str]) -> None:
    for (place, word), copy in _flags(said):
        if copy:
            assert word[0] != "S"
            assert word in said[:place]


@given(st.lists(st.sampled_from("abcd"), max_size=30))
def test_without_a_summary_there_are_no_copies(said: list[str]) -> None:
    assert not any(copy for _, copy in _flags(said))


@given(st.lists(st.integers(), unique=True, min_size=1, max_size=30), st.data())
def test_compaction_undone_gives_what_was_said(said: list[int], data: st.DataObject) -> None:
    """A conversation in which nobody repeats anything, compacted in place again and again."""
    left = [f"m{word}" for word in said]
    shown: list[str] = []
    stretch: list[str] = []
    stored: list[str] = []
    while left:
        step = data.draw(st.integers(1, len(left)))
        stretch, stored, shown, left = stretch + left[:step], stored + left[:step], shown + left[:step], left[step:]
        again: bool = data.draw(st.booleans())
        if left or again:
            head = stretch[: data.draw(st.integers(0, max(0, len(stretch) - 1)))]
            tail = stretch[max(len(head), len(stretch) - data.draw(st.integers(0, 4))) :]
            summary = f"S{len(stored)}"
            stored += [*head, summary, *tail]
            shown.append(summary)
            stretch = [*head, *tail]
    assert shown == [word for (_, word), copy in _flags(stored) if not copy]

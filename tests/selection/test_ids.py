from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.contracts import SessionInfo
from satchel.errors import AmbiguousId, NotFound, UsageError
from satchel.ids import resolve_ids, split_id


def session(session_id: str, **facts: Any) -> SessionInfo:
    return SessionInfo(id=session_id, format="hermes", agent="hermes", **facts)


def found(wanted: list[str], *ids: str) -> list[str]:
    return [info.id for info in resolve_ids(wanted, [session(session_id) for session_id in ids])]


@pytest.mark.parametrize(
    ("wanted", "ids", "expected"),
    [
        ("abc", ("abc", "xyz"), "abc"),
        ("ab", ("abc", "xyz"), "abc"),
        ("abc", ("abcd", "abc", "abcde"), "abc"),
        ("ABC", ("abcd", "xyz"), "abcd"),
        ("abc", ("ABCD", "xyz"), "ABCD"),
        ("ABC", ("abc", "ABC"), "ABC"),
        ("a_c", ("abc", "a_cd"), "a_cd"),
        ("a%", ("abc", "a%b"), "a%b"),
        ("é", ("éa", "Éb"), "éa"),
        ("a/../b", ("a/../b", "a"), "a/../b"),
    ],
)
def test_an_id_is_exact_or_a_unique_prefix(wanted: str, ids: tuple[str, ...], expected: str) -> None:
    assert [expected] == found([wanted], *ids)


def test_an_exact_id_wins_though_prefixes_come_first_and_last() -> None:
    assert ["a"] == found(["a"], "ab", "a", "ac", "ad")


def test_a_prefix_that_fits_several_names_five_of_them() -> None:
    """A shortened id once deleted the wrong session."""
    with pytest.raises(AmbiguousId) as caught:
        found(["s"], *(f"s{n}" for n in range(9)))

    assert caught.value.message == '"s" fits several sessions: s0, s1, s2, s3, s4 and more; give more of the id'
    assert caught.value.subject == "s"


def test_a_prefix_that_fits_two_names_both() -> None:
    with pytest.raises(AmbiguousId, match=r"several sessions: s0, s1; give"):
        found(["s"], "s0", "t", "s1")


def test_an_unknown_id_says_how_many_were_looked_at() -> None:
    with pytest.raises(NotFound) as caught:
        found(["zz", "a"], "abc", "xyz")

    assert caught.value.message == 'no session "zz" among the 2 that were looked at'
    assert caught.value.subject == "zz"
    assert not isinstance(caught.value, AmbiguousId)


def test_all_unknown_ids_are_named_at_once() -> None:
    with pytest.raises(NotFound, match='no sessions "x", "y" among the 1 that'):
        found(["x", "abc", "y"], "abc")


@pytest.mark.parametrize("empty", ["", "  ", "@session:", "@session:work/"])
def test_an_empty_prefix_is_an_error(empty: str) -> None:
    """Upstream's export took an empty id for no id at all and wrote every session."""
    with pytest.raises(UsageError):
        found([empty], "only")


def test_sessions_come_in_the_order_of_the_ids_and_once() -> None:
    assert ["b1", "a1"] == found(["b", "a1", "b1", "a"], "a1", "b1", "c1")


def test_one_id_in_two_stores_gives_both() -> None:
    infos = [session("abc", store="one", profile=None), session("x"), session("abc", store="two", profile="work")]

    assert [infos[0], infos[2]] == resolve_ids(["ab"], infos)
    assert [infos[0], infos[2]] == resolve_ids(["abc"], infos)


def test_an_exact_id_of_one_store_wins_over_prefixes_in_another() -> None:
    infos = [session("abcd", store="one"), session("abc", store="two")]

    assert [infos[1]] == resolve_ids(["abc"], infos)


def test_a_link_looks_in_its_profile_alone() -> None:
    infos = [session("abc"), session("abc", profile="work"), session("abd", profile="work")]

    assert [infos[1]] == resolve_ids(["@session:work/abc"], infos)
    assert [infos[0]] == resolve_ids(["@session:default/ab"], infos)
    assert [infos[1]] == resolve_ids(["@session:Work/abc"], infos)
    assert [infos[2]] == resolve_ids(["@session:abd"], infos)
    with pytest.raises(NotFound):
        resolve_ids(["@session:home/abc"], infos)


def test_an_id_may_look_like_a_link() -> None:
    assert ["@session:a/b"] == found(["@session:a/b"], "@session:a/b", "c")


@pytest.mark.parametrize(
    ("given_id", "expected"),
    [
        ("abc", (None, "abc")),
        ("@session:work/abc", ("work", "abc")),
        ("@session:work/a/b", ("work", "a/b")),
        ("@session:/abc", (None, "abc")),
        ("@session:abc", (None, "abc")),
        ("work/abc", (None, "work/abc")),
    ],
)
def test_a_link_is_a_profile_and_an_id(given_id: str, expected: tuple[str | None, str]) -> None:
    assert expected == split_id(given_id)


IDS = st.text("abAB_%é", min_size=1, max_size=4)


def lowered(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


@given(st.lists(IDS, min_size=1, max_size=8), IDS)
def test_resolving_is_exact_then_unique_prefix(ids: list[str], wanted: str) -> None:
    prefixed = {session_id for session_id in ids if lowered(session_id).startswith(lowered(wanted))}
    expected = {wanted} if wanted in ids else prefixed

    if len(expected) == 1:
        assert expected == set(found([wanted], *ids))
    else:
        with pytest.raises(AmbiguousId if expected else NotFound):
            found([wanted], *ids)

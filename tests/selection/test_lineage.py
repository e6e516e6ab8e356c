import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.contracts import Lineage, SessionInfo
from satchel.errors import NotFound
from satchel.formats.hermes_info import ParentFacts, kind_of_child
from satchel.lineage import Families


def session(session_id: str, parent: str | None = None, started: float | None = 0.0, **facts: Any) -> SessionInfo:
    """Return a session; with a parent it is a continuation unless told otherwise."""
    facts.setdefault("lineage", "continuation" if parent else None)
    return SessionInfo(id=session_id, format="hermes", agent="hermes", parent=parent, started_at=started, **facts)


def compressed(session_id: str, parent: str | None = None, started: float | None = 0.0, **facts: Any) -> SessionInfo:
    return session(session_id, parent, started, end_reason="compression", **facts)


# Families and their order.


def test_families_follow_their_roots_and_parents_stand_before_children() -> None:
    families = Families(
        [
            session("c2", "root", 30),
            session("late", started=50),
            session("grandchild", "c1", 5),
            session("root", started=10),
            session("c1", "root", 20),
            session("early", started=1),
        ]
    )

    assert [["early"], ["root", "c1", "grandchild", "c2"], ["late"]] == list(families.groups())
    assert ["early", "root", "c1", "grandchild", "c2", "late"] == list(families.order())
    assert len(families) == 6
    assert "c1" in families
    assert "c9" not in families


def test_equal_starts_are_ordered_by_id_and_a_missing_one_counts_as_0() -> None:
    families = Families(
        [session("b", started=1), session("a", started=1), session("n", started=None), session("x", "a"), session("w", "a")]
    )

    assert ["n", "a", "w", "x", "b"] == list(families.order())


def test_a_child_of_a_missing_parent_is_a_root() -> None:
    assert [["x"], ["y"]] == list(Families([session("y", "gone", 2), session("x", "gone", 1)]).groups())


def test_a_cycle_starts_at_its_earliest_member() -> None:
    families = Families(
        [session("b", "a", 2), session("c", "b", 1), session("a", "c", 3), session("tail", "a", 9), session("self", "self", 8)]
    )

    assert [["c", "a", "b", "tail"], ["self"]] == list(families.groups())


def test_a_time_that_is_no_number_does_not_disturb_the_order() -> None:
    infos = [session(str(n), started=float("nan") if n % 2 else float(n)) for n in range(6)]

    assert ["0", "1", "3", "5", "2", "4"] == list(Families(infos).order())


def test_a_repeated_id_counts_once_whatever_comes_first() -> None:
    infos = [session("a", started=2), session("a", started=1), session("b", started=1.5)]

    assert ["a", "b"] == list(Families(infos).order())
    assert ["a", "b"] == list(Families(reversed(infos)).order())


@st.composite
def forests(draw: st.DrawFn) -> list[SessionInfo]:
    """Sessions with any parent: none, a missing one, themselves, or one another in cycles."""
    ids = draw(st.lists(st.text("abcdé", min_size=1, max_size=3), unique=True, max_size=12))
    parents = st.none() | st.just("gone") | st.sampled_from(ids or ["gone"])
    times = st.none() | st.floats() | st.integers(0, 3).map(float)
    return [
        session(
            session_id,
            draw(parents),
            draw(times),
            last_active=draw(times),
            lineage=draw(st.sampled_from(["continuation", "continuation", "delegate", "branch", "reset", "child", None])),
            end_reason=draw(st.sampled_from([None, "compression", "cli_close"])),
            live=draw(st.booleans()),
        )
        for session_id in ids
    ]


@given(forests(), st.randoms(use_true_random=False))
def test_the_order_holds_each_session_once_and_ignores_the_scans(infos: list[SessionInfo], chance: random.Random) -> None:
    order = list(Families(infos).order())
    chains = list(Families(infos).chains())
    chance.shuffle(infos)
    again = Families(infos)

    assert sorted(order) == sorted(info.id for info in infos)
    assert order == list(again.order())
    assert chains == list(again.chains())


@given(forests())
def test_parents_stand_before_children_where_there_is_no_cycle(infos: list[SessionInfo]) -> None:
    families = Families(infos)
    place = {session_id: number for number, session_id in enumerate(families.order())}

    for info in infos:
        if info.parent in place and info.id not in families.ancestors(info.parent) and info.id != info.parent:
            assert place[info.parent] < place[info.id]


@given(forests())
def test_a_family_is_all_that_parent_links_join(infos: list[SessionInfo]) -> None:
    family = {session_id: number for number, ids in enumerate(Families(infos).groups()) for session_id in ids}
    joined = {info.id: {info.id} for info in infos}
    for info in infos:
        if info.parent in joined:
            union = joined[info.id] | joined[info.parent]
            joined |= dict.fromkeys(union, union)

    for one, other in itertools.combinations(family, 2):
        assert (family[one] == family[other]) == (other in joined[one])


@given(forests())
def test_every_session_is_in_one_chain_and_knows_it(infos: list[SessionInfo]) -> None:
    families = Families(infos)
    chains = list(families.chains())

    assert sorted(itertools.chain.from_iterable(chains)) == sorted(info.id for info in infos)
    for chain in chains:
        for session_id in chain:
            assert chain == families.chain(session_id)
            assert chain[-1] == families.tip(session_id)


@given(forests())
def test_walks_end_and_never_come_back(infos: list[SessionInfo]) -> None:
    families = Families(infos)

    for info in infos:
        for walk in (families.descendants(info.id), families.ancestors(info.id)):
            assert info.id not in walk
            assert len(walk) == len(set(walk))
        for other in families.descendants(info.id):
            assert info.id in families.ancestors(other)


# Chains.


def test_a_chain_holds_the_continuations_alone() -> None:
    """Upstream's export took the delegate that began before the compression, and dropped the continuations."""
    families = Families(
        [
            compressed("root", started=1),
            session("delegate", "root", 2, lineage="delegate"),
            compressed("second", "root", 3),
            session("third", "second", 4, live=True),
            session("branch", "third", 5, lineage="branch"),
        ]
    )

    assert ["root", "second", "third"] == families.chain("second")
    assert families.tip("root") == "third"
    assert families.tip("third") == "third"
    assert [["root", "second", "third"], ["delegate"], ["branch"]] == list(families.chains())


def test_a_continuation_may_have_begun_before_its_parent() -> None:
    """Clocks step back, and the next segment is often made before the last one is closed."""
    assert ["root", "next"] == Families([compressed("root", started=9), session("next", "root", 3)]).chain("next")


@pytest.mark.parametrize(
    ("children", "expected"),
    [
        ([compressed("old", "p", 1), session("live", "p", 9, live=True), session("ended", "p", 9)], "old"),
        ([session("live", "p", 1, live=True), session("ended", "p", 9)], "live"),
        ([session("x", "p", 9, last_active=10.0), session("y", "p", 1, last_active=20.0)], "y"),
        ([session("x", "p", 9), session("y", "p", 1, last_active=5.0)], "x"),
        ([session("x", "p", 1), session("y", "p", 1)], "y"),
        ([compressed("d", "p", 1, lineage="delegate"), session("y", "p", 1)], "y"),
    ],
)
def test_of_several_continuations_the_conversation_goes_on_in_one(children: list[SessionInfo], expected: str) -> None:
    for order in itertools.permutations(children):
        families = Families([compressed("p"), *order])

        assert ["p", expected] == families.chain("p")
        for child in children:
            assert (["p", expected] if child.id == expected else [child.id]) == families.chain(child.id)


def test_chains_are_cut_where_a_cycle_begins() -> None:
    families = Families([compressed("a", "b", 1), compressed("b", "a", 2), compressed("self", "self", 3)])

    assert [["a", "b"], ["self"]] == list(families.chains())
    assert families.tip("a") == "b"
    assert families.tip("b") == "b"


def test_a_continuation_of_a_missing_parent_begins_a_chain() -> None:
    assert ["x"] == Families([session("x", "gone")]).chain("x")


def test_a_chain_of_thousands_is_no_recursion() -> None:
    infos = [compressed(f"{n:05}", f"{n - 1:05}" if n else None, float(n)) for n in range(5_000)]
    families = Families(infos)

    assert [info.id for info in infos] == families.chain("02500")
    assert [info.id for info in infos] == list(families.order())
    assert len(families.descendants("00000")) == 4_999


@pytest.mark.parametrize("method", ["chain", "tip", "descendants", "ancestors"])
def test_an_unknown_id_is_not_found(method: str) -> None:
    with pytest.raises(NotFound, match="'zz'"):
        getattr(Families([session("a")]), method)("zz")


def test_descendants_are_followed_through_the_kinds_asked_for() -> None:
    families = Families(
        [
            session("root"),
            session("d1", "root", 2, lineage="delegate"),
            session("d2", "d1", 3, lineage="delegate"),
            session("d3", "root", 1, lineage="delegate"),
            session("branch", "d1", 4, lineage="branch"),
            session("lost", "branch", 5, lineage="delegate"),
        ]
    )

    assert ["d3", "d1", "d2"] == families.descendants("root", {"delegate"})
    assert ["d3", "d1", "d2", "branch", "lost"] == families.descendants("root")
    assert ["branch", "d1", "root"] == families.ancestors("lost")


def test_descendants_in_a_cycle_are_all_the_others() -> None:
    """A cycle in the marks once deleted the parent itself, with its messages."""
    families = Families([session("a", "b", 1, lineage="delegate"), session("b", "a", 2, lineage="delegate")])

    assert ["a"] == families.descendants("b", {"delegate"})
    assert ["b"] == families.descendants("a", {"delegate"})
    assert ["a"] == families.ancestors("b")


# Kinds.


def kind(
    config: Any = None,
    *,
    parent: ParentFacts | None = None,
    parent_id: str | None = "p",
    source: str | None = "cli",
    started: float | None = 10.0,
    key: str | None = None,
) -> Lineage | None:
    return kind_of_child(
        parent_id=parent_id, model_config=config, source=source, started_at=started, session_key=key, parent=parent
    )


ENDED = ParentFacts(end_reason="cli_close", ended_at=5.0)
COMPRESSED = ParentFacts(end_reason="compression", ended_at=5.0)
BRANCHED = ParentFacts(end_reason="branched", ended_at=5.0)


@pytest.mark.parametrize("parent_id", [None, ""])
def test_a_row_without_a_parent_has_no_kind(parent_id: str | None) -> None:
    assert kind(parent_id=parent_id) is None
    assert kind({"_delegate_from": "x", "_branched_from": "y"}, parent_id=parent_id) is None


@pytest.mark.parametrize("parent", [None, ENDED, COMPRESSED, BRANCHED])
@pytest.mark.parametrize(
    ("mark", "expected"), [("_branched_from", "branch"), ("_delegate_from", "delegate"), ("_reset_from", "reset")]
)
def test_a_mark_that_names_the_parent_decides(mark: str, expected: str, parent: ParentFacts | None) -> None:
    assert expected == kind({mark: "p"}, parent=parent)


@pytest.mark.parametrize("mark", ["_branched_from", "_delegate_from", "_reset_from"])
@pytest.mark.parametrize("value", ["other", "", None, True, 7, ["p"], {"p": 1}])
def test_a_mark_that_names_another_row_was_only_copied(mark: str, value: Any) -> None:
    """A continuation takes its parent's model_config over whole."""
    assert kind({mark: value}, parent=COMPRESSED) == "continuation"
    assert kind({mark: value}, parent=ENDED) == "child"


def test_a_branch_beats_a_delegate_mark() -> None:
    """A branch of a delegate inherits the delegate's mark, and was deleted with the parent for it."""
    assert kind({"_branched_from": "p", "_delegate_from": "grandparent"}, parent=ENDED) == "branch"
    assert kind({"_branched_from": "p", "_delegate_from": "p"}, parent=ENDED) == "branch"
    assert kind({"_delegate_from": "grandparent"}, parent=BRANCHED) == "branch"


@pytest.mark.parametrize(
    ("started", "ended", "expected"),
    [(5.0, 5.0, "branch"), (6.0, 5.0, "branch"), (4.9, 5.0, "child"), (None, 5.0, "child"), (6.0, None, "child")],
)
def test_what_began_after_a_parent_branched_is_its_branch(started: float | None, ended: float | None, expected: str) -> None:
    assert expected == kind(parent=ParentFacts(end_reason="branched", ended_at=ended), started=started)


def test_a_delegate_of_a_branched_parent_is_no_branch() -> None:
    assert kind({"_delegate_from": "p"}, parent=BRANCHED) == "delegate"


@pytest.mark.parametrize("started", [1.0, 5.0, 9.0, None])
def test_a_continuation_goes_by_the_parents_end_not_by_time(started: float | None) -> None:
    assert kind(parent=COMPRESSED, started=started) == "continuation"
    assert kind({"max_iterations": 90}, parent=COMPRESSED, started=started) == "continuation"


def test_a_tool_run_of_a_compressed_parent_does_not_continue_it() -> None:
    assert kind(parent=COMPRESSED, source="tool") == "child"


@pytest.mark.parametrize("reason", ["session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired"])
def test_the_next_session_of_a_chat_is_a_reset(reason: str) -> None:
    def parent(key: str | None) -> ParentFacts:
        return ParentFacts(end_reason=reason, ended_at=5.0, session_key=key)

    assert kind(parent=parent("agent:main:telegram:dm:1"), key="agent:main:telegram:dm:1") == "reset"
    assert kind(parent=parent("agent:main:telegram:dm:2"), key="agent:main:telegram:dm:1") == "child"
    assert kind(parent=parent(""), key="") == "child"
    assert kind(parent=parent(None), key=None) == "child"


def test_a_parent_that_ended_otherwise_makes_no_reset() -> None:
    assert kind(parent=ParentFacts(end_reason="cli_close", session_key="k"), key="k") == "child"


def test_orphaned_delegates_are_delegates_unless_they_were_only_copied() -> None:
    """The migration to schema 16 marked old subagent runs so, where the parent was gone."""
    orphan = {"_delegate_from": "__orphaned__"}

    assert kind(orphan, parent_id=None) == "delegate"
    assert kind(orphan, parent=None) == "delegate"
    assert kind(orphan, parent=ENDED) == "delegate"
    assert kind(orphan, parent=COMPRESSED) == "continuation"
    assert kind({**orphan, "_branched_from": "p"}, parent=ENDED) == "branch"


@pytest.mark.parametrize("config", [None, [], ["_delegate_from"], "p", 7])
def test_a_config_that_is_no_object_has_no_marks(config: Any) -> None:
    """Upstream's own list fails on a model_config that is no valid JSON."""
    assert kind(config, parent=COMPRESSED) == "continuation"


def test_a_child_of_a_missing_parent_is_a_child() -> None:
    assert kind(parent=None) == "child"
    assert kind({"_delegate_from": "other"}, parent=None) == "child"

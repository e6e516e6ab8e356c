"""The cheap frozen classes do what `dataclass(frozen=True, slots=True)` does."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from satchel import events
from satchel.contracts import Usage
from satchel.frozen import frozen, maker


def _classes(make: Callable[..., Any]) -> tuple[type[Any], type[Any]]:
    @make(frozen=True, slots=True)
    class Place:
        """A place."""

        name: str
        number: int = 0
        parts: list[int] = field(default_factory=list, repr=False, compare=False)
        length: int = field(init=False, default=7)

    @make(frozen=True, slots=True, kw_only=True)
    class Thing:
        """A thing."""

        name: str
        doubled: str = field(init=False, default="")

        def __post_init__(self) -> None:
            object.__setattr__(self, "doubled", self.name * 2)

    return Place, Thing


OURS, USUAL = _classes(frozen), _classes(dataclass)


@pytest.mark.parametrize(
    "look",
    [
        lambda place, thing: repr(place("a", 2)),
        lambda place, thing: repr(thing(name="b")),
        lambda place, thing: [(f.name, f.init, f.default) for f in fields(place) if f.name != "parts"],
        lambda place, thing: (place.__match_args__, thing.__match_args__, place.__slots__, place.__doc__, place.__qualname__),
        lambda place, thing: place("a", 1) == place("a", number=1, parts=[1]),
        lambda place, thing: place("a") == place("b"),
        lambda place, thing: place("a") == ("a", 0),
        lambda place, thing: hash(place("a", 3)) == hash(place("a", 3)),
        lambda place, thing: replace(place("a", 3), number=4).number,
        lambda place, thing: copy.deepcopy(place("a", 3, [1])).parts,
        lambda place, thing: place("a").parts is place("a").parts,
        lambda place, thing: hasattr(place("a"), "__dict__"),
        lambda place, thing: thing(name="xy").doubled,
    ],
)
def test_they_are_alike(look: Callable[..., Any]) -> None:
    assert look(*USUAL) == look(*OURS)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda place, thing: place(),
        lambda place, thing: place("a", 1, [], 7),
        lambda place, thing: place("a", name="b"),
        lambda place, thing: place("a", length=3),
        lambda place, thing: place("a", colour="red"),
        lambda place, thing: thing("a"),
        lambda place, thing: hash(place([])),
    ],
)
def test_they_refuse_the_same(wrong: Callable[..., Any]) -> None:
    for classes in (USUAL, OURS):
        with pytest.raises(TypeError):
            wrong(*classes)


def test_a_maker_makes_what_a_call_makes() -> None:
    for kind, given, named in ((OURS[0], ("a",), {"number": 4}), (OURS[0], ("a", 1, [1]), {}), (OURS[1], (), {"name": "b"})):
        make = maker(kind)
        made, called = make(*given, **named), kind(*given, **named)
        assert (kind, called, repr(called)) == (type(made), made, repr(made))
        assert [getattr(called, f.name) for f in fields(called)] == [getattr(made, f.name) for f in fields(made)]
        with pytest.raises(TypeError):
            make(*given, **named, colour="red")
    assert maker(OURS[0])("a").parts is not maker(OURS[0])("a").parts


@pytest.mark.parametrize("make", [OURS[0], maker(OURS[0])])
def test_they_do_not_change(make: Callable[..., Any]) -> None:
    place = make("a")
    with pytest.raises(FrozenInstanceError):
        place.name = "b"
    with pytest.raises(FrozenInstanceError):
        del place.name
    with pytest.raises(FrozenInstanceError):
        place.other = 1


def test_two_kinds_of_event_with_the_same_fields_differ() -> None:
    said, started = (kind("list") for kind in (events.Said, events.RunStarted))
    assert said != started
    assert events.Problem("x", "y") == events.Problem(where="x", message="y", severity="warning", lost=0)


def test_they_can_be_pickled() -> None:
    problem = events.Problem("x", "y", "loss", 3)

    assert problem == pickle.loads(pickle.dumps(problem))
    assert Usage(input=4) == pickle.loads(pickle.dumps(Usage(input=4)))


def test_a_class_is_made_without_what_takes_long_to_load() -> None:
    """Loading `dataclasses` took a sixth of a short run; it is there when it is asked about a class."""
    code = """
import sys
from satchel.events import Problem
problem = Problem("x", "y")
assert repr(problem) and problem == Problem("x", "y") and hash(problem)
assert "dataclasses" not in sys.modules, "it was loaded"
from dataclasses import fields, is_dataclass, replace
assert is_dataclass(Problem) and is_dataclass(problem)
assert [f.name for f in fields(problem)] == ["where", "message", "severity", "lost"]
assert replace(problem, lost=3).lost == 3
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (0, "") == (done.returncode, done.stderr)

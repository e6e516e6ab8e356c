"""The registry: what is found once is looked for everywhere, in every form, under one name."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.redaction.registry import Registry, propagates
from satchel.redaction.spans import MEDIUM, STRONG, WEAK

VALUE = "Zx9-sea/Salt'Kelp77"


def _forms(value: str) -> Mapping[str, str]:
    return {"raw": value, "base64": base64.b64encode(value.encode()).decode(), "json": json.dumps(value)[1:-1]}


def test_only_sure_and_long_values_are_looked_for() -> None:
    assert propagates("a" * 12, STRONG)
    assert not propagates("a" * 11, STRONG)
    assert propagates("a" * 8, STRONG, sure=True)
    assert not propagates("a" * 40, MEDIUM)


@pytest.mark.parametrize("native", [True, False])
def test_forms_are_found_where_they_stand(native: bool) -> None:
    registry = Registry(forms=_forms, native=native)
    registry.add(VALUE, "kelp", STRONG)
    coded = base64.b64encode(VALUE.encode()).decode()
    text = f"\ud800 é {VALUE} and {coded}{VALUE}"

    found = [(text[hit.start : hit.end], hit.rule, hit.value) for hit in registry.find(text)]

    assert found == [(VALUE, "kelp", VALUE), (coded, "kelp", VALUE), (VALUE, "kelp", VALUE)]
    assert registry.holds(json.dumps(json.dumps(json.dumps(text))).encode())
    assert not registry.holds(b"nothing of the kind")


@pytest.mark.parametrize("native", [True, False])
def test_values_without_a_run_of_letters_are_found_at_any_depth(native: bool) -> None:
    value = '?"a\\b"!é-c\\d"'
    registry = Registry(given={value: "own"}, native=native)
    text = value
    for _ in range(3):
        assert registry.holds(text.encode())
        text = json.dumps(text)


@pytest.mark.parametrize("native", [True, False])
def test_many_values_are_found_as_few_are(native: bool) -> None:
    values = [f"value-{number:04}-of-many" for number in range(120)]
    registry = Registry(native=native)
    for value in values:
        registry.add(value, "kelp", STRONG)

    assert [hit.value for hit in registry.find(" ".join(values))] == values
    assert all(registry.holds(value.encode()) for value in values)


def test_values_that_overlap_are_all_found() -> None:
    registry = Registry()
    registry.add("abcdefghijkl", "one", STRONG)
    registry.add("ghijklmnopqr", "two", STRONG)

    assert [(0, 12), (6, 18)] == [(hit.start, hit.end) for hit in registry.find("abcdefghijklmnopqr")]


@pytest.mark.parametrize("native", [True, False])
def test_a_broken_value_is_found_though_what_is_left_of_it_was_found_by_itself(native: bool) -> None:
    """Where a rule took the first line of a token for a token, the rest of it stayed though the whole of it was known."""
    value = "Qx7mKp2Rt9Lw4Zs8YbVn3Hc6Jd"
    registry = Registry(native=native)
    for found in (value, value[:20], value[4:], "another-value-00"):
        registry.add(found, "kelp", STRONG)
    text = f"it is {value[:20]}\n{value[20:]} and another-value-00"

    hits = registry.find_disguised(text, registry.find(text))

    assert [(6, 6 + len(value) + 1)] == [(hit.start, hit.end) for hit in hits if hit.value == value]
    assert [] == registry.find_disguised(f"{value}\nand\n{value}", registry.find(f"{value}\nand\n{value}"))


SIGNS = st.sampled_from("ab12-. ")


@pytest.mark.parametrize("native", [True, False])
@given(
    values=st.lists(st.text(SIGNS, min_size=12, max_size=40), min_size=1, max_size=5, unique=True),
    order=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12), st.integers(0, 40)), max_size=12),
)
def test_every_place_of_every_value_is_found(native: bool, values: list[str], order: list[tuple[int, int, int]]) -> None:
    """However values overlap, hold each other, or are alike: a shorter look at each once missed one of three in each other."""
    registry = Registry(native=native)
    for value in values:
        registry.add(value, "kelp", STRONG)
    text = "".join(values[number % len(values)][start : start + size] for number, start, size in order)

    found = {(hit.start, hit.end) for hit in registry.find(text)}

    every = {(at, at + len(value)) for value in values for at in range(len(text)) if text.startswith(value, at)}
    assert every == found
    assert not found or registry.holds(text.encode())


def test_the_surest_rule_names_a_value_then_the_first_in_order_whoever_came_first() -> None:
    for rules in (["late", "early", "weak"], ["weak", "early", "late"]):
        registry = Registry(order=["weak", "early", "late"])
        for rule in rules:
            registry.add(VALUE, rule, WEAK if rule == "weak" else STRONG)
        assert registry.rule_of(VALUE) == "early"


def test_a_form_of_a_value_found_by_itself_is_the_value() -> None:
    registry = Registry(forms=_forms)
    coded = base64.b64encode(VALUE.encode()).decode()
    registry.add(coded, "blob", STRONG)
    registry.add(VALUE, "kelp", STRONG)

    assert registry.original(coded) == VALUE
    assert [hit.value for hit in registry.find(coded)] == [VALUE]


def test_what_the_user_gave_stays_when_a_family_ends() -> None:
    registry = Registry(given={"kelp": "own", "abc": "own"})
    registry.add(VALUE, "kelp", STRONG)
    registry.clear()

    assert registry.spreading == ["kelp"]
    assert registry.rule_of(VALUE) is None
    assert [hit.rule for hit in registry.find("the kelp abc")] == ["own"]


def test_nothing_shows_a_value() -> None:
    registry = Registry()
    registry.add(VALUE, "kelp", STRONG)

    assert "Salt" not in repr(registry) + repr(registry.find(VALUE))

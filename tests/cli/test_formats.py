"""`formats`: the built-in ones, those of plug-ins, and plug-ins that are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that installs a distribution with one entry point: its name, the group, the point, and the module."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(distribution: str, group: str, point: str, source: str) -> None:
        module = distribution.replace("-", "_")
        (site / f"{module}.py").write_text(source)
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[satchel.{group}]\n{point} = {module}\n")

    return install


def test_the_built_in_formats(satchel: Callable[..., Any]) -> None:
    found = json.loads(satchel("formats", "--json").out)

    assert {"hermes", "jsonl"} <= {each["name"] for each in found["readers"]}
    assert {"jsonl"} <= {each["name"] for each in found["writers"]}
    assert {"satchel"} == {each["origin"] for role in found.values() for each in role}
    assert [] == [each["name"] for role in found.values() for each in role if not each["summary"]]


def test_the_table_says_what_reads_and_what_writes(satchel: Callable[..., Any]) -> None:
    lines = satchel("formats").out.splitlines()

    assert ["read", "hermes"] in [line.split()[:2] for line in lines]
    assert ["write", "jsonl"] in [line.split()[:2] for line in lines]


def test_a_plug_in_is_listed_with_the_package_that_brings_it(satchel: Callable[..., Any], plug_in: Callable[..., None]) -> None:
    plug_in("lighthouse-log", "readers", "lighthouse", "summary = 'logs of lighthouses\\x1b[2J'\n")
    done = satchel("formats")
    found = json.loads(satchel("formats", "--json").out)

    assert {"name": "lighthouse", "summary": "logs of lighthouses\x1b[2J", "origin": "lighthouse-log"} in found["readers"]
    assert "\x1b" not in done.out
    assert "lighthouse-log" in done.out


def test_a_broken_plug_in_is_a_warning_that_names_its_package(satchel: Callable[..., Any], plug_in: Callable[..., None]) -> None:
    plug_in("sunken-ship", "writers", "wreck", "raise RuntimeError('hit a rock')\n")
    done = satchel("formats")

    assert 0 == done.status
    assert "jsonl" in done.out
    assert "wreck" not in done.out
    assert "warning: sunken-ship: the plug-in wreck of sunken-ship can't be loaded: hit a rock" in done.err


def test_two_plug_ins_of_one_name_are_an_error_that_names_both(satchel: Callable[..., Any], plug_in: Callable[..., None]) -> None:
    for distribution in ("east-coast", "west-coast"):
        plug_in(distribution, "readers", "coast", "summary = ''\n")
    done = satchel("formats")

    assert (1, "") == (done.status, done.out)
    assert "east-coast" in done.err
    assert "west-coast" in done.err


def test_a_store_that_is_open_is_not_opened_once_more_to_be_recognised(story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing another descriptor of a database drops the locks that this process holds on it, and its writer would not wait."""
    from satchel import open as open_store
    from satchel.formats import registry
    from satchel.formats.jsonl import reader as jsonl

    with open_store(story):
        monkeypatch.setattr(jsonl, "sniff", lambda path: pytest.fail("it would be opened"))
        monkeypatch.setattr(registry, "_head", lambda path: pytest.fail("it would be opened"))

        assert "hermes" == registry.detect(story).name

"""A report counts, and tells nothing: no value, nothing around one, no key that may be one."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from redacting import KEY, token

from satchel.contracts import Record
from satchel.errors import TargetError
from satchel.protecting import write_report
from satchel.redaction.policy import Policy
from satchel.redaction.report import Report, place, sentences
from satchel.redaction.spans import MEDIUM, STRONG


def told() -> Report:
    report = Report()
    for session, rule, tag, names in (
        ("one", "github-token", "aaaaaa", ("content", "text")),
        ("one", "github-token", "aaaaaa", ("content", "text")),
        ("two", "github-token", "aaaaaa", ("cwd",)),
        ("two", "password", "bbbbbb", ("input", "marek@quay.io")),
        ("two", "email", "cccccc", ("input", token())),
    ):
        strength = MEDIUM if rule == "email" else STRONG
        report.found(rule=rule, strength=strength, tag=tag, session=session, kind="line", names=names, again=rule == "password")
    report.looked("one", opened=True)
    report.looked("two", opened=False)
    report.changed("one")
    return report


def test_it_counts_by_rule_field_session_strength_and_way() -> None:
    said = told().as_dict(rules=Policy().facts())

    assert (5, 3, 2, 1, 1) == tuple(said[key] for key in ("replaced", "distinct", "records", "records_opened", "records_changed"))
    assert {"replaced": 3, "distinct": 1, "sessions": 2, "strength": "strong", "tags": ["aaaaaa"]} == said["by_rule"][
        "github-token"
    ]
    assert {"line/content/text": 2, "line/cwd": 1, "line/input/?": 2} == said["by_field"]
    assert {"medium": 1, "strong": 4} == said["by_strength"]
    assert {"again": 1, "found": 4} == said["by_way"]
    assert [("one", 2), ("two", 3)] == [(session["session"], session["replaced"]) for session in said["by_session"]]
    assert Policy().digest == said["rules"]["digest"]


@pytest.mark.parametrize("name", ["marek@quay.io", "/home/marek", token(), "db.quay.io", "[REDACTED:email:1c9a02]", "x" * 60, ""])
def test_a_key_that_is_no_plain_word_is_not_told(name: str) -> None:
    assert place("line", ["input", name]) in ("line/input/?", "line/input")


def test_there_is_a_bound_to_the_fields_that_are_told() -> None:
    report = Report()
    for number in range(2000):
        name = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        report.found(rule="password", strength=STRONG, tag="aaaaaa", session="s", kind="line", names=(name,), again=False)

    fields = report.as_dict()["by_field"]
    assert (501, 2000, 1500) == (len(fields), sum(fields.values()), fields["…"])


def test_people_are_told_what_to_do() -> None:
    first, second, third = sentences(told(), unit="session")

    assert "2 secrets of 2 kinds removed in 2 sessions: github-token 1, password 1" == first
    assert "personal data removed: email 1" == second
    assert third.startswith("redacting is not rotating")
    assert ["no secret found"] == sentences(Report(), unit="file", verb="found")


def test_a_report_is_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(path, told(), Policy())
    write_report(path, told(), Policy())

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert 1 == json.loads(path.read_text())["report"]


def test_a_report_takes_no_other_files_place(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text('{"a": 1}')

    with pytest.raises(TargetError, match="no report"):
        write_report(path, told(), Policy())
    assert '{"a": 1}' == path.read_text()
    write_report(path, told(), Policy(), force=True)


def test_a_value_is_in_no_report_and_no_repr() -> None:
    from satchel.redaction.building import build

    report = Report()
    redactor: Any = build(Policy(), tags=KEY, report=report)
    value = token()
    record = Record("line", 1, None, f'{{"{value}": "password={value}", "text": "{value}"}}'.encode())
    redactor.begin()
    redactor.learn([record])
    list(redactor.apply([record]))
    shown = json.dumps(report.as_dict(rules=Policy().facts())) + repr(report)

    assert report.total
    assert value not in shown
    assert value[4:12] not in shown

"""The redactor: what is found once in a family goes everywhere in it, records keep their shape, and a fault stops everything."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from redacting import KEY, line, redactor, run, token

from satchel.contracts import Gated, Record, Redactor, Scoped
from satchel.errors import RedactionError
from satchel.jsontext import RawText, loads
from satchel.redaction.engine import Engine
from satchel.redaction.literals import Hits
from satchel.redaction.placeholders import PLACEHOLDER
from satchel.redaction.rules import RuleSet, builtin
from satchel.redaction.spans import Span


def placeholder(value: str, rule: str = "github-token") -> str:
    return f"[REDACTED:{rule}:{KEY.tag(value)}]"


def test_it_is_a_redactor_with_all_abilities() -> None:
    red: Redactor = redactor()
    assert isinstance(red, Scoped)
    assert isinstance(red, Gated)
    assert repr(red) == "SecretRedactor()"


def test_a_record_without_secrets_is_the_same_record() -> None:
    records = [
        line({"type": "user", "text": "nothing to see"}),
        Record("messages", 1, {"content": "nor here", "id": 1}, None, True),
    ]

    assert all(new is old for new, old in zip(run(redactor(), records)[0], records, strict=True))


def test_a_line_keeps_its_spelling_and_its_bytes_say_what_its_data_say() -> None:
    value = token(1)
    raw = b'\xef\xbb\xbf{ "a":"\\u00e9 %s" , "n":1.50}\r\n' % value.encode()
    record = Record("line", 7, loads(raw), raw)

    (new,) = run(redactor(), [record])[0]

    assert new.raw == raw.replace(value.encode(), placeholder(value).encode())
    assert new.data == {"a": f"é {placeholder(value)}", "n": 1.5}
    assert (new.kind, new.key) == ("line", 7)
    assert record.raw == raw


def test_what_a_damaged_line_holds_goes_and_its_odd_bytes_stay() -> None:
    value = token(2)
    raw = b'{"text":"\xff\xfe ' + value.encode() + b" and then it bro"

    (new,) = run(redactor(), [Record("line", 1, None, raw)])[0]

    assert new.data is None
    assert new.raw == raw.replace(value.encode(), placeholder(value).encode())


def test_a_line_with_bytes_that_are_no_text_is_cleaned_in_both_its_forms() -> None:
    value = token(3)
    raw = b'{"text":"\xff ' + value.encode() + b'"}\n'
    record = Record("line", 1, loads(raw.decode("utf-8", "replace")), raw)

    (new,) = run(redactor(), [record])[0]

    assert new.raw == raw.replace(value.encode(), placeholder(value).encode())
    assert new.data == {"text": f"\ufffd {placeholder(value)}"}


def test_a_row_keeps_the_types_of_its_columns() -> None:
    value = token(4)
    row = {
        "blob": b"\xff\0 " + value.encode(),
        "content": f'\0json:[{{"text": "{value}"}}]',
        "empty": None,
        "odd": RawText(b"\xfe " + value.encode()),
        "time": 1.5,
        value: "its name",
        "id": 3,
    }

    (new,) = run(redactor(), [Record("messages", 3, row, None, True)])[0]

    gone = placeholder(value)
    assert new.data == {
        "blob": b"\xff\0 " + gone.encode(),
        "content": f'\0json:[{{"text": "{gone}"}}]',
        "empty": None,
        "odd": RawText(b"\xfe " + gone.encode()),
        "time": 1.5,
        gone: "its name",
        "id": 3,
    }
    assert new.raw is None
    assert not new.plain, "its keys are in order no more"


def test_a_row_is_as_plain_as_it_was_where_only_values_changed() -> None:
    (new,) = run(redactor(), [Record("messages", 1, {"content": token(5), "id": 1}, None, True)])[0]

    assert new.plain


def test_json_made_of_a_record_before_is_not_let_through() -> None:
    record = Record("messages", 1, {"content": token(6), "id": 1}, None, True)
    record.json, record.exact = b'{"content":"old"}', {"content": {}}

    (new,) = run(redactor(), [record])[0]

    assert new.json is None
    assert new.exact is None


def test_a_secret_goes_everywhere_in_its_family_and_in_no_other() -> None:
    value = "Tq7-mXw2-Kp9v-Zr4t"
    bare = {"type": "user", "text": f"see {value} there", value: [json.dumps({"deep": value})]}
    first = [line(bare, 1), line({"env": f"API_SECRET={value}"}, 2)]
    child = [line({"type": "child", "said": value}, 1)]

    parent, other = run(redactor(), first, child)
    alone = run(redactor(), child)[0]

    assert value.encode() not in (parent[0].raw or b"")
    assert value.encode() not in (other[0].raw or b"")
    assert PLACEHOLDER.search(str(other[0].data))
    assert alone[0] is child[0]


def test_equal_secrets_get_equal_placeholders_and_others_others() -> None:
    one, two = token(7), token(8)
    (new,) = run(redactor(), [line({"a": one, "b": two, "c": one})])[0]

    assert new.data["a"] == new.data["c"] == placeholder(one)
    assert new.data["b"] == placeholder(two)


def test_redacting_again_changes_nothing() -> None:
    first = run(redactor(), [line({"a": token(9), "password": "hunter2-Xy99", "m": {"pass": json.dumps({"k": token(10)})}})])[0]
    again = run(redactor(), first)[0]

    assert first[0] is again[0]


def test_applying_twice_gives_the_same_and_counts_once() -> None:
    red = redactor()
    records = [line({"a": token(11)}, 1), line({"b": f"{token(11)} {token(12)}"}, 2)]
    red.begin()
    red.enter("s")
    red.learn(records)

    first = list(red.apply(records))
    second = list(red.apply(records))

    assert first == second
    assert red.counts("s") == {"github-token": 3}


def test_what_was_not_learned_is_judged_all_the_same() -> None:
    red = redactor()
    red.begin()

    assert PLACEHOLDER.search(str(next(iter(red.apply([line({"a": token(13)})]))).data))
    assert red.text(f"title {token(13)}") == f"title {placeholder(token(13))}"
    assert red.clean(f"loose {token(13)}") == f"loose {placeholder(token(13))}"


def test_what_stands_outside_the_records_is_judged_though_the_family_was_learned() -> None:
    """A title is made from a record and is none of its strings: what was kept of those said that nothing was in it."""
    red = redactor()
    run(red, [line({"a": f"{token(13)} and more"})])

    assert red.text(f"title {token(13)}") == f"title {placeholder(token(13))}"
    assert red.text(token(23)) == placeholder(token(23))
    assert red.identifier(token(24)) == placeholder(token(24))


def test_ids_change_only_where_they_are_surely_secret_and_then_everywhere_alike() -> None:
    red = redactor()
    records = [line({"sessionId": token(14), "uuid": "token=abcdef0123456789", "message": {"id": "msg_01AbCdEf0123456789xyz"}})]

    (new,) = run(red, records)[0]

    assert new.data["sessionId"] == red.identifier(token(14)) == placeholder(token(14))
    assert new.data["uuid"] == "token=abcdef0123456789"
    assert new.data["message"] == {"id": "msg_01AbCdEf0123456789xyz"}


def test_names_of_files_that_are_records_are_cleaned() -> None:
    record = Record("tool-result", f"tool-results/{token(15)}.txt", "nothing", b"nothing")

    assert run(redactor(), [record])[0][0].key == f"tool-results/{placeholder(token(15))}.txt"


@pytest.mark.parametrize(
    ("data", "raw"),
    [
        ([{"a": "{}"}, "{}"], b'{"a":"{}"}\n"{}"\n'),
        ({"rest": "{}"}, b'{"other":"{}"}'),
        ("a text: {}", b"a text: {}"),
        ({"only": "{}"}, None),
        (None, b"\xff\0 {}"),
    ],
)
def test_files_that_are_records_are_cleaned_in_their_data_and_their_bytes(data: Any, raw: bytes | None) -> None:
    value = token(16)
    filled = loads(json.dumps(data).replace("{}", value))
    record = Record("meta", "a.json", filled, raw.replace(b"{}", value.encode()) if raw is not None else None)

    (new,) = run(redactor(), [record])[0]

    assert new.data == loads(json.dumps(data).replace("{}", placeholder(value)))
    assert new.raw == (raw.replace(b"{}", placeholder(value).encode()) if raw is not None else None)


def test_a_secret_cut_in_pieces_of_a_stream_goes_from_each() -> None:
    value = token(17)

    def delta(number: int, text: str) -> Record:
        chunk = base64.b64encode(text.encode()).decode()
        payload = {"type": "exec_command_output_delta", "call_id": "call_1", "chunk": chunk}
        return line({"type": "event_msg", "payload": payload}, number)

    parts = [f"the key: {value[:9]}", value[9:22], f"{value[22:]} and more", "the end"]
    records = [delta(number, text) for number, text in enumerate(parts, 1)]
    records.insert(1, line({"type": "event_msg", "payload": {"type": "token_count"}}, 9))

    new = run(redactor(), records)[0]

    said = [base64.b64decode(record.data["payload"]["chunk"]).decode() for record in new if "chunk" in record.data["payload"]]
    gone = placeholder(value)
    assert said == [f"the key: {gone}", gone, f"{gone} and more", "the end"]
    assert new[1] is records[1]
    assert new[4] is records[4]


def test_a_known_value_cut_in_two_goes_though_it_is_known_only_later() -> None:
    value = "Tq7-mXw2-Kp9v-Zr4t"

    def progress(number: int, text: str) -> Record:
        return line({"type": "progress", "toolUseID": "toolu_1", "data": {"type": "bash_progress", "output": text}}, number)

    records = [progress(1, f"got {value[:8]}"), progress(2, f"{value[8:]} here"), line({"env": f"API_SECRET={value}"}, 3)]

    new = run(redactor(), records)[0]

    said = [record.data["data"]["output"] for record in new[:2]]
    assert all(PLACEHOLDER.search(text) for text in said)
    assert value[:8] not in said[0]
    assert value[8:] not in said[1]


class _Policy:
    digest = "1" * 64
    drop_media = False

    def __init__(self, given: dict[str, str] | None = None, allowed: Iterable[str] = ()) -> None:
        self.given = given or {}
        self.allowed = set(allowed)
        self.families = 0

    def begin(self) -> None:
        self.families += 1

    def allows(self, value: str, rule: str, /) -> bool:
        return value in self.allowed

    def find(self, text: str, /) -> list[Span]:
        at = text.find("Ines")
        return [Span(at, at + 4, "person", 1)] if at >= 0 else []

    def may_hold(self, raw: bytes, /) -> bool:
        return b"Ines" in raw

    def placeholder(self, kind: str, value: str, /) -> str | None:
        return "[someone]" if kind == "person" else None


def test_a_policy_adds_values_and_findings_and_spares_values() -> None:
    spared, gone = token(18), token(19)
    policy = _Policy({"kelp": "own"}, [spared])
    red = redactor(policy=policy)

    (new,) = run(red, [line({"a": f"{spared} {gone} kelp", "b": "Ines", "kelp": 1})])[0]

    assert new.data == {
        "a": f"{spared} {placeholder(gone)} {placeholder('kelp', 'own')}",
        "b": "[someone]",
        placeholder("kelp", "own"): 1,
    }
    assert policy.families == 1
    assert red.digest != redactor().digest


class _Report:
    gate = "off"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def clear(self) -> None:
        self.heard.clear()

    def looked(self, session: str, /, *, opened: bool) -> None:
        self.heard.append(("looked", session, opened))

    def changed(self, session: str, /) -> None:
        self.heard.append(("changed", session))

    def rename(self, session: str, name: str, /) -> None:
        self.heard.append(("rename", session, name))

    def media(self, session: str, /) -> None:
        self.heard.append(("media", session))

    def found(self, **what: Any) -> None:
        self.heard.append(("found", what["session"], what["rule"], what["names"], what["again"]))


def test_a_report_hears_each_place_once_however_often_a_session_is_read() -> None:
    report = _Report()
    red = redactor(report=report)
    value = "Tq7-mXw2-Kp9v-Zr4t"
    records = [
        line({"message": {"content": f"API_SECRET={value}"}}, 1),
        line({"message": {"text": value}}, 2),
        line({"c": "no"}, 3),
    ]
    red.begin()
    red.enter("s")
    red.learn(records)
    next(red.apply(records))
    list(red.apply(records))
    list(red.apply(records))

    found = [what for what in report.heard if what[0] == "found"]
    assert [(names, again) for _, _, _, names, again in found] == [(("message", "content"), False), (("message", "text"), True)]
    assert report.heard.count(("changed", "s")) == 2
    assert value not in repr(report.heard)


# ---------------------------------------------------------------------------------------------------------- failing closed


class _Fragile(Engine):
    """An engine of which one part raises; what it raises holds the text."""

    def __init__(self, breaks: str) -> None:
        super().__init__(builtin())
        self.breaks = breaks

    def find(self, text: str, *, hidden: bool = True, hits: Hits | None = None) -> list[Span]:
        if self.breaks in text:
            raise KeyError(text)
        return super().find(text, hidden=hidden, hits=hits)

    def opens(self, raw: bytes) -> int:
        return 2

    def look(self, texts: Sequence[str]) -> dict[int, tuple[int, Hits | None]]:
        return dict.fromkeys(range(len(texts)), (2, None))


@pytest.mark.parametrize("stage", ["learn", "apply", "text", "identifier", "clean"])
def test_a_failure_stops_and_says_where_without_a_word_of_the_text(stage: str) -> None:
    text = "very" + " private"
    red = redactor(engine=_Fragile(text))
    record = line({"a": text}, 12)
    red.begin()
    red.enter("the-session")
    work: dict[str, Callable[[], object]] = {
        "learn": lambda: red.learn([record]),
        "apply": lambda: list(red.apply([record])),
        "text": lambda: red.text(text),
        "identifier": lambda: red.identifier(text),
        "clean": lambda: red.clean(text),
    }

    with pytest.raises(RedactionError) as failure:
        work[stage]()

    shown = "".join(traceback.format_exception(failure.value))
    assert text not in shown
    assert failure.value.__context__ is None
    assert failure.value.exit_code == 1
    if stage in ("learn", "apply"):
        assert "line 12 of session the-session" in str(failure.value)


def test_a_record_that_would_be_no_json_any_more_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.redaction.parts.applied", lambda text, edits: text.replace('"', "", 1))

    with pytest.raises(RedactionError, match="JsonError at line 1"):
        run(redactor(), [line({"a": token(20)})])


def test_a_check_that_raises_is_such_a_failure() -> None:
    def broken(value: str) -> bool:
        raise ZeroDivisionError(value)

    rules = builtin()
    broken_rules = tuple(replace(rule, checks=(broken,)) for rule in rules.rules)

    with pytest.raises(RedactionError, match="ZeroDivisionError"):
        run(redactor(RuleSet(rules=broken_rules, version="1", digest="0" * 64)), [line({"a": token(20)})])


def test_what_is_held_does_not_grow_with_a_session() -> None:
    red = redactor()

    def many(count: int) -> Iterable[Record]:
        return (line({"n": number, "text": f"word {number} {token(21)}"}, number) for number in range(count))

    def held() -> tuple[int, ...]:
        return len(red.registry), len(red._telling.told), len(red._telling.counts), len(red._marks._bits)

    sizes = []
    for count in (50, 500):
        red.begin()
        red.enter("s")
        red.learn(many(count))
        for _ in red.apply(many(count)):
            pass
        sizes.append(held())

    assert sizes[0] == sizes[1]

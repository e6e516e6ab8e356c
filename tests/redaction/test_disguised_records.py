"""What is disguised is found whatever kind of record holds it, however deep in JSON, and wherever it was learned."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable

import pytest
from fakes import filled
from redacting import line, redactor, run, token

from satchel.contracts import Record
from satchel.redaction.placeholders import PLACEHOLDER
from satchel.redaction.redactor import SecretRedactor

DISGUISES: dict[str, Callable[[str], str]] = {
    "bare": lambda value: value,
    "a colour in it": lambda value: f"{value[:2]}\x1b[32m{value[2:]}",
    "a colour in it, written": lambda value: f"{value[:2]}\\u001b[32m{value[2:]}",
    "a colour in it, written otherwise": lambda value: f"{value[:2]}\\033[32m{value[2:]}",
    "no width": lambda value: f"{value[:2]}\u200b{value[2:]}",
    "a tag character": lambda value: f"{value[:2]}\U000e0061{value[2:]}",
    "struck over": lambda value: f"{value[:2]}x\b{value[2:]}",
    "on two lines": lambda value: f"{'x' * 60} {value[:20]}\n{value[20:]}",
    "escaped twice": lambda value: json.dumps(json.dumps(f"a\n{value}")),
    "escapes throughout": lambda value: "".join(f"\\u{ord(char):04x}" for char in value),
    "percents": lambda value: value.replace("_", "%5F"),
    "references": lambda value: value.replace("_", "&#95;"),
}


@pytest.mark.parametrize("name", DISGUISES)
@pytest.mark.parametrize("form", ["row", "line", "ascii line"])
def test_a_disguise_is_seen_whatever_the_record_is_serialised_as(name: str, form: str) -> None:
    """Lines whose writer escapes all but ASCII hid characters without width: they were no characters, and no control codes."""
    text = DISGUISES[name](token(22))
    if form == "row":
        record = Record("messages", 1, {"content": text, "id": 1}, None, True)
    else:
        raw = json.dumps({"content": text}, ensure_ascii=form == "ascii line").encode()
        record = Record("line", 1, json.loads(raw), raw)

    (new,) = run(redactor(), [record])[0]

    assert PLACEHOLDER.search(new.data["content"])
    assert token(22)[4:20] not in new.data["content"]


@pytest.mark.parametrize(
    "disguise",
    [
        lambda value: "".join(f"%{ord(char):02X}" for char in value),
        lambda value: "".join(f"&#{ord(char)};" for char in value),
        lambda value: "\u200b".join(value),
        lambda value: f"{value[:9]}\x1b[31m{value[9:]}",
        lambda value: f"{value[:14]}\n{value[14:]}",
        lambda value: f"{value[:14]} \u2502\r\n\u2502 {value[14:]}",
        lambda value: f"{value[:14]}\\\n    {value[14:]}",
        lambda value: "".join(f"\\x{ord(char):02x}" for char in value),
    ],
    ids=["percent", "references", "invisible", "colour", "wrap", "box", "continued", "hex escapes"],
)
@pytest.mark.parametrize("known_first", [True, False])
def test_what_is_known_from_elsewhere_goes_in_every_disguise(disguise: Callable[[str], str], known_first: bool) -> None:
    """It has nothing by which a rule would know it, so that only the search for what is known finds it."""
    value = "Qm7xLw2vTk9pRz4nHc8sYb3dFg6jWt1q"
    shown = Record("line", 1, None, json.dumps({"content": f"MY_API_KEY={value}"}).encode())
    hidden = Record("line", 2, None, json.dumps({"content": [f"it says {disguise(value)} there"]}).encode())
    records = [shown, hidden] if known_first else [hidden, shown]
    red = redactor()
    red.begin()
    red.enter("s")
    red.learn(records)

    clean = next(record for record in red.apply(records) if record.key == 2)

    said = json.loads(clean.raw or b"")["content"][0]
    assert re.fullmatch(r"it says \[REDACTED:api-key:[0-9a-f]{6}\] there", said)


@pytest.mark.parametrize("sign", ["", "+", " "])
def test_a_key_goes_from_the_lines_of_a_list_and_of_other_layouts(sign: str) -> None:
    """An edit's patch is a list of lines: a private key that was written so came out whole."""
    lines = filled("{pem:RSA PRIVATE KEY}").splitlines()
    patch = {"structuredPatch": [{"oldStart": 1, "lines": [" before", *(sign + line for line in lines), " after"]}]}
    listed = "\n".join(f"1a2b3c4d (Dev 2026-01-0{at % 9 + 1}) {line}" for at, line in enumerate(lines[2:-2]))
    records = [Record("line", at, None, json.dumps(data).encode()) for at, data in enumerate([patch, {"content": listed}])]
    red = redactor()
    red.begin()
    red.enter("s")
    red.learn(records)

    clean = [json.loads(record.raw or b"") for record in red.apply(records)]

    said = json.dumps(clean)
    assert [line for line in lines[1:-1] if len(line) > 40 and line in said] == []
    kept = clean[0]["structuredPatch"][0]["lines"]
    assert (len(lines) + 2, " before", " after") == (len(kept), kept[0], kept[-1])
    assert clean[1]["content"].count("[REDACTED:private-key:") == len(lines) - 4
    again = [Record("line", at, None, json.dumps(data).encode()) for at, data in enumerate(clean)]
    red.begin()
    red.learn(again)
    assert clean == [json.loads(record.raw or b"") for record in red.apply(again)]


@pytest.mark.parametrize("data", [None, "text"])
def test_a_backspace_in_json_is_seen_whether_the_json_is_a_record_or_a_text(data: str | None) -> None:
    value = token("struck")
    text = json.dumps({"content": f"it is {value[:9]}x\b{value[9:]} now"})
    red = redactor()

    if data:
        clean = red.clean(text)
    else:
        [record] = _passed(red, [Record("line", 1, None, text.encode())])
        clean = (record.raw or b"").decode()

    assert value[12:] not in clean
    assert PLACEHOLDER.search(clean)


def _passed(red: SecretRedactor, records: list[Record]) -> Iterable[Record]:
    red.begin()
    red.learn(records)
    return iter(red.apply(records))


# ---------------------------------------------------------------------------------------------------------- every way in

_LONG = filled("hf" + "_{mixed:34}", seed="long")
_BASIC = base64.b64encode(b"acme:phRrMp9gzjQN6HWp19cgkHef").decode()
_WAYS: dict[str, Callable[[str], Record]] = {
    "row": lambda text: Record("messages", 1, {"content": text, "id": 1}, None, True),
    "row of JSON": lambda text: Record("messages", 1, {"content": json.dumps({"k": text}), "id": 1}, None, True),
    "row of JSON in JSON": lambda text: Record(
        "messages",
        1,
        {"tool_calls": json.dumps([{"arguments": json.dumps({"cmd": text}, ensure_ascii=False)}]), "id": 1},
        None,
        True,
    ),
    "row of ASCII": lambda text: Record("messages", 1, {"content": json.dumps([json.dumps([json.dumps([text])])]), "id": 1}),
    "text": lambda text: Record("text", 1, text),
    "line of JSON in JSON": lambda text: line({"payload": {"output": json.dumps({"output": json.dumps([text])})}}),
    "line": lambda text: line({"message": {"content": [{"type": "text", "text": text}]}}),
}
_HIDDEN_WELL = {
    "a name and its value in colours": ("\x1b[1mEXA_API_KEY\x1b[0m=\x1b[32m{}\x1b[0m", "d3ed959a-f5ea-4252-a977-2f7cdc9f4b98"),
    "in colours that are written out": ("password\\x1b[0m: \\x1b[32m{}\\x1b[0m", "cobalt1283$x"),
    "in colours as terminals show them": ("export DB_PASSWORD^[[0m=^[[32m{}^[[0m", "mjA0ngCV79hoBb67c"),
    "by a name far inside JSON": (
        '{{\n "auths": {{\n  "https://index.example.io/v1/": {{\n   "auth": "{}"\n  }}\n }}\n}}',
        _BASIC,
    ),
    "in base64, by its name": ("echo {} | base64 -d > .env", base64.b64encode(b"A=1\nDB_PASSWORD=cobalt1283$x\n").decode()),
    "bare": ("then {} again", token(7)),
    "wrapped": ("{}\n", token(8)[:30] + "\n" + token(8)[30:]),
    "with a space of no width": ("{}", token(9)[:3] + "\u200b" + token(9)[3:]),
    "with a terminal's return in it": ("{}", _LONG[:20] + "\r" + _LONG[20:]),
    "struck over": ("{}", _LONG[:20] + "x\b" + _LONG[20:]),
    "by a name, with a return in it": ("API_KEY={}", "Qm7xLw2vTk9pRz4nHc8s\rYb3dFg6jWt1q"),
    "by a name in other letters": ("пароль: {}", "mjA0ngCV79hoBb67c"),
    "by a name, behind a wide blank": ("api_key\u202f:\u00a0{}", "Qm7xLw2vTk9pRz4nHc8sYb3dFg6jWt1q"),
    "with no width before it": ("https://app\u200b:{}@db.example.com/x", "Qm7xLw2vTk9pRz4nHc8s"),
    "in quotes, in a sentence": ('my api token is "{}". Can you check it?', "0665375e2246525fea2ceb3d1aa96eb1"),
}


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("what", _HIDDEN_WELL)
def test_what_is_found_in_a_text_is_found_whatever_kind_of_record_holds_it(what: str, way: str) -> None:
    """Each kind of record is looked at in a way of its own; two of these were once looked at and not found."""
    text, value = _HIDDEN_WELL[what]
    for around in ("{}", "before\n{}\nbehind", "x" * 600 + "\n{}\n" + "key of a map, token by token " * 30):
        record = _WAYS[way](around.format(text.format(value)))
        (new,) = run(redactor(), [record])[0]
        said = json.dumps(new.data, ensure_ascii=False) + (new.raw or b"").decode()
        for _ in range(3):
            said = said.replace("\\\\", "\\")
        said = said.replace("\\n", "\n").replace("\\r", "\r").replace('\\"', '"')
        assert [] == [part for part in re.split("[\r\n\b]", value) if part in said]
        assert "[REDACTED:" in said

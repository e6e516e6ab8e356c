"""The gate: what should have been taken out does not get into a file, and what is no leak goes through."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from exporting import MemoryTarget
from redacting import redactor, token

from satchel.contracts import Record
from satchel.errors import RedactionError
from satchel.redaction.gate import Gate
from satchel.redaction.redactor import SecretRedactor

KNOWN = "Tq7-mXw2-Kp9v-Zr4t"


def gate_of(*learned: str, **options: Any) -> tuple[SecretRedactor, Gate]:
    red = redactor(**options)
    red.begin()
    red.learn([Record("line", number, {}, json.dumps({"t": text}).encode()) for number, text in enumerate(learned, 1)])
    return red, red.gate()


def put(gate: Gate, *pieces: bytes) -> bytes:
    target = MemoryTarget()
    gated = gate.over(target)
    stream = gated.stream("out.jsonl")
    for piece in pieces:
        stream.write(piece)
    gated.finish(stream)
    assert [True] == [stream.finished for stream in target.streams]
    return target.data


def test_what_is_clean_goes_through_as_it_is() -> None:
    pieces = [os.urandom(300) + b"\n" for _ in range(5)] + [b"x" * (3 << 20), b"[REDACTED:github-token:0a0b0c]"]

    assert put(gate_of()[1], *pieces) == b"".join(pieces)


@pytest.mark.parametrize("where", [0, 1000, (1 << 20) - 20, (1 << 20) - 1, 2 << 20])
@pytest.mark.parametrize("size", [7, 1 << 16])
def test_what_a_rule_finds_is_an_error_wherever_it_stands(where: int, size: int) -> None:
    _, gate = gate_of()
    gate.session = "the-session"
    text = json.dumps({"a": "x " * 10}).encode() * (where // 30 + 1)
    text = text[:where] + b'"' + token(1).encode() + b'"' + b" y" * (1 << 20)
    pieces = [text[at : at + max(size, 1 << 12)] for at in range(0, len(text), max(size, 1 << 12))]

    with pytest.raises(RedactionError) as failure:
        put(gate, *pieces)

    assert "out.jsonl, at session the-session" in str(failure.value)
    assert "github-token" in str(failure.value)
    assert token(1) not in str(failure.value)


def test_what_is_known_of_the_family_is_an_error_across_pieces_too() -> None:
    _, gate = gate_of(f"API_SECRET={KNOWN}")
    data = b"a" * ((1 << 20) - 5) + KNOWN.encode()

    with pytest.raises(RedactionError):
        put(gate, data[: 1 << 20], data[1 << 20 :])


def test_nothing_of_a_piece_with_a_leak_reaches_the_target() -> None:
    target = MemoryTarget()
    gated = gate_of()[1].over(target)
    stream = gated.stream("a")
    stream.write(b"before " + token(2).encode())

    with pytest.raises(RedactionError):
        gated.finish(stream)
    assert target.data == b""
    assert not target.streams[0].finished


def test_one_family_is_not_judged_by_what_is_known_of_another() -> None:
    red, gate = gate_of()
    gated = gate.over(MemoryTarget())
    stream = gated.stream("a")
    stream.write(f"bare {KNOWN}\n".encode())
    gated.settle()
    red.begin()
    red.learn([Record("line", 1, {}, json.dumps({"t": f"API_SECRET={KNOWN}"}).encode())])
    stream.write(b"clean\n")

    gated.settle()
    stream.write(KNOWN.encode())
    with pytest.raises(RedactionError):
        gated.settle()


def test_what_a_user_allows_may_stay() -> None:
    red = redactor()
    gate = Gate(red._engine, red.registry, allows=lambda value, rule: value == token(3))

    assert put(gate, json.dumps({"a": token(3)}).encode())
    with pytest.raises(RedactionError):
        put(gate, json.dumps({"a": token(4)}).encode())


@pytest.mark.parametrize("chunk", [50, 1 << 16, 3 << 20])
def test_letters_in_a_picture_that_look_like_a_secret_are_none(chunk: int) -> None:
    """Base64 holds anything by chance: "/ghp_…" can't stand in it, but other rules' forms can, and do in large pictures."""
    from satchel.redaction.rules import parse

    rules = parse('[[rule]]\nid = "odd"\nliterals = ["ODDkey"]\npattern = "ODDkey[A-Za-z0-9]{16}"\nchecks = []\n', where="here")
    head = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 6000).decode()
    picture = head[:1_300_000] + "/ODDkeyAbCdEfGh01234567/" + head[:800_000]
    data = json.dumps({"data": picture}).encode()
    pieces = [data[at : at + chunk] for at in range(0, len(data), chunk)]

    assert put(redactor(rules).gate(), *pieces) == data
    with pytest.raises(RedactionError):
        put(redactor(rules).gate(), json.dumps({"data": picture[20:]}).encode())


def test_a_text_as_a_whole_is_searched() -> None:
    _, gate = gate_of()

    assert gate.text(b"fine", "the manifest") == b"fine"
    with pytest.raises(RedactionError, match="the manifest"):
        gate.text(token(5).encode(), "the manifest")


def test_it_shows_nothing() -> None:
    _, gate = gate_of(f"API_SECRET={KNOWN}")

    assert repr(gate) == "Gate()"


def test_pieces_are_few_and_memory_is_bounded(tmp_path: Path) -> None:
    target = MemoryTarget()
    gated = gate_of()[1].over(target)
    stream = gated.stream("a")
    for _ in range(40_000):
        stream.write(b"sixty bytes of text, more or less, which nobody minds at all\n")
    gated.finish(stream)

    assert len(target.streams[0].parts) == 3
    assert len(stream._tail) <= 16 << 10

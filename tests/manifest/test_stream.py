"""Streams gather, hash and count what is written, and give every byte on in order."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.errors import TargetError
from satchel.manifest.stream import PIECE, HashingStream


def _written(stream: HashingStream, pieces: list[bytes]) -> None:
    for piece in pieces:
        stream.write(piece)
    stream._finish()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.one_of(st.binary(max_size=64), st.integers(0, 3 * PIECE).map(bytes)), max_size=12))
def test_all_bytes_go_on_in_order_hashed_and_counted(pieces: list[bytes]) -> None:
    out: list[bytes] = []
    stream = HashingStream("a", out.append)
    _written(stream, pieces)
    whole = b"".join(pieces)
    assert whole == b"".join(out)
    assert len(whole) == stream.bytes
    assert hashlib.sha256(whole).hexdigest() == stream.sha256


def test_small_writes_are_gathered_into_large_ones() -> None:
    out: list[bytes] = []
    _written(HashingStream("a", out.append), [b"x" * 1000] * 3000)
    assert 1 + 3_000_000 // PIECE == len(out)
    assert min(map(len, out[:-1])) >= PIECE


def test_a_large_write_goes_through_without_a_copy() -> None:
    out: list[bytes] = []
    large = bytes(PIECE)
    _written(HashingStream("a", out.append), [b"head", large, b"tail"])
    assert [b"head", large, b"tail"] == out
    assert out[1] is large


def test_a_finished_stream_takes_nothing_more() -> None:
    stream = HashingStream("a", lambda data: None)
    _written(stream, [b"x"])
    with pytest.raises(TargetError, match="finished"):
        stream.write(b"y")


def test_a_stream_that_lost_bytes_cannot_be_finished() -> None:
    """A writer that goes on after an error must not end up with a file that has a hole."""
    full = True

    def sink(data: bytes) -> None:
        if full:
            raise TargetError("full")

    stream = HashingStream("a", sink)
    with pytest.raises(TargetError, match="full"):
        stream.write(bytes(PIECE))
    full = False
    stream.write(b"more")
    with pytest.raises(TargetError, match="a write to it failed"):
        stream._finish()
    assert "" == stream.sha256

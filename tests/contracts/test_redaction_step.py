"""The pipeline's redaction step keeps its contract: two passes over a family, and nothing is made from what was not redacted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from satchel import library
from satchel.contracts import Record


class Toy:
    """Takes one word, in small letters, out of a family that was found to have it."""

    digest = "0" * 64

    def __init__(self, word: str) -> None:
        self.word = word
        self.calls: list[tuple[str, list[str]]] = []
        self.found = False

    def begin(self) -> None:
        self.calls.append(("begin", []))
        self.found = False

    def learn(self, records: Iterable[Record], /) -> None:
        held = list(records)
        self.calls.append(("learn", [str(r.data["id"]) for r in held if r.kind == "sessions"]))
        self.found = self.found or any(self.word in str(r.data) for r in held)

    def apply(self, records: Iterable[Record], /) -> Iterator[Record]:
        for record in records:
            data = {k: self.text(v) if isinstance(v, str) else v for k, v in record.data.items()}
            yield Record(record.kind, record.key, data, None, record.plain)

    def text(self, text: str, /) -> str:
        return text.replace(self.word, "[word]") if self.found else text


def test_what_is_written_is_made_from_redacted_records_only(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db(schema=23, case="story")
    library.convert(store, tmp_path / "plain.jsonl")
    toy = Toy("tide")

    outcome = library.convert(store, tmp_path / "clean.jsonl", redactor=toy)

    manifest = Path(str(outcome.manifest)).read_text()
    assert "tide" in (tmp_path / "plain.jsonl").read_text()
    assert "tide" not in (tmp_path / "clean.jsonl").read_text()
    assert "tide" not in manifest
    assert library.verify(tmp_path / "clean.jsonl", content=True).ok
    assert toy.digest == json.loads(manifest.splitlines()[0])["rules"]


def test_the_source_digest_is_of_what_the_store_says(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    store = hermes_db(schema=23, case="story")
    before = library.convert(store, tmp_path / "plain.jsonl")
    after = library.convert(store, tmp_path / "clean.jsonl", redactor=Toy("tide"))

    def digests(outcome: object, key: str) -> list[str]:
        lines = [json.loads(line) for line in Path(str(getattr(outcome, "manifest"))).read_text().splitlines()]  # noqa: B009
        return [line[key] for line in lines if line["type"] == "session"]

    assert digests(before, "source_digest") == digests(after, "source_digest")
    assert digests(before, "content_digest") == digests(before, "source_digest")


def test_a_family_is_learned_whole_before_it_is_written_parents_first(hermes_db: Callable[..., Path], tmp_path: Path) -> None:
    toy = Toy("no such word")
    library.convert(hermes_db(schema=23, case="story"), tmp_path / "clean.jsonl", redactor=toy)
    lines = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]

    learned = [session_id for _, ids in toy.calls for session_id in ids]
    assert [line["id"] for line in lines] == learned
    parents = {line["id"]: line["parent_session_id"] for line in lines}
    assert all(learned.index(parent) < learned.index(child) for child, parent in parents.items() if parent in learned)
    assert 1 < sum(name == "begin" for name, _ in toy.calls) < len(learned)

"""
Fills in the lines and digests of new test vectors in docs/formats/digest-vectors.json, and touches none that are there.

Add a vector with its name, why and rows, run `python tests/docs/freeze_vectors.py`, and look at what it wrote: from then on it is
frozen, since a digest that was published must not change.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from satchel.contracts import Record
from satchel.digest import ContentDigest
from satchel.formats.hermes_rows import canonical
from satchel.jsontext import RawText

VECTORS = Path(__file__).resolve().parents[2] / "docs" / "formats" / "digest-vectors.json"


class Tape:
    """Stands in for SHA-256 and keeps what is hashed."""

    def __init__(self) -> None:
        self.said = b""

    def update(self, data: bytes | memoryview) -> None:
        self.said += data

    def hexdigest(self) -> str:
        return hashlib.sha256(self.said).hexdigest()


def value(noted: Any) -> Any:
    """Return the database's value that the vectors' notation stands for."""
    if not isinstance(noted, dict):
        return noted
    ((kind, coded),) = noted.items()
    if kind == "$real":
        return float(coded)
    data = base64.b64decode(coded, validate=True)
    return {"$b64": data, "$text": RawText(data)}[kind]


def records(vector: dict[str, Any]) -> Iterator[Record]:
    """Yield the records of a vector in the order a store gives them."""
    facts = [("sessions", [vector["session"]] if vector["session"] is not None else []), *vector["tables"].items()]
    for kind, rows in [*facts, ("messages", vector["messages"])]:
        for i, row in enumerate(rows):
            yield Record(kind, row.get("id", i), {name: value(noted) for name, noted in row.items()})


def freeze(vectors: dict[str, Any]) -> int:
    """Fill in what is missing and return how many vectors and lineages were filled in."""
    fresh = 0
    for vector in vectors["vectors"]:
        if "digest" not in vector:
            tape = Tape()
            digest = ContentDigest(canonical)
            digest._sha = tape  # type: ignore[assignment]
            for record in records(vector):
                digest.add(record)
            vector["digest"] = digest.hexdigest()
            vector["lines"] = tape.said.decode().split("\n")[:-1]
            fresh += 1
    by_name = {vector["name"]: vector["digest"] for vector in vectors["vectors"]}
    for lineage in vectors["lineages"]:
        if "digest" not in lineage:
            digests = [by_name[name] for name in lineage["segments"]]
            whole = hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()
            lineage["digest"] = whole if len(digests) > 1 else digests[0]
            fresh += 1
    return fresh


if __name__ == "__main__":
    found = json.loads(VECTORS.read_text("ascii"))
    print(f"{freeze(found)} new")
    VECTORS.write_text(json.dumps(found, indent=1) + "\n", "ascii")

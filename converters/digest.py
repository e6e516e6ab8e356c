"""
The content digest: SHA-256 over what a session says, the same for every lossless format.

The rule, with test vectors, is docs/formats/digest.md. In short: one line for the session's facts, one for each record of the
conversation in order, each ended by a newline. What stands for a record is its dialect's to say. Row ids and derived counts are
left out, since a restored session gets new ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satchel.contracts import Record

__all__ = ["VERSION", "Canonical", "ContentDigest", "content_digest", "lineage_digest"]

VERSION = 1

Canonical = Callable[["Record"], Sequence[bytes | memoryview]]
"""Gives, in pieces, the line that stands for a record: `Store.canonical`."""


class ContentDigest:
    """
    Takes a session's records in order and gives the digest.

    Records of the kind `conversation` are the conversation, all others are facts about the session.
    """

    __slots__ = ("_canonical", "_conversation", "_open", "_session", "_sha", "_tables", "records")

    def __init__(self, canonical: Canonical, *, conversation: str = "messages") -> None:
        self._canonical = canonical
        self._conversation = conversation
        self._sha = hashlib.sha256()
        self._session = b"null"
        self._tables: dict[str, list[bytes]] = {}
        self._open = True
        self.records = 0

    def add(self, record: Record) -> None:
        """Take one record. Facts come before the conversation."""
        if record.kind == self._conversation:
            if self._open:
                self._close_facts()
            update = self._sha.update
            for piece in self._canonical(record):
                update(piece)
            self.records += 1
            return
        said = b"".join(self._canonical(record))[:-1]
        if record.kind == "sessions":
            self._session = said
        else:
            self._tables.setdefault(record.kind, []).append(said)
        self.records += 1

    def add_session(self, canonical: bytes) -> None:
        """Take the canonical bytes of the session's own row."""
        self._session = canonical

    @property
    def is_bare(self) -> bool:
        """Whether no session row was taken."""
        return self._session == b"null"

    def begin_conversation(self) -> Callable[[bytes | memoryview], object]:
        """End the facts, and return what takes the canonical bytes of each record; a newline ends each."""
        if self._open:
            self._close_facts()
        return self._sha.update

    def _close_facts(self) -> None:
        self._open = False
        # Rows of other tables have no order of their own: they are sorted by what they say.
        tables = b",".join(b'"%s":[%s]' % (_name(name), b",".join(sorted(rows))) for name, rows in sorted(self._tables.items()))
        self._tables.clear()
        self._sha.update(b'{"digest":%d,"session":%s,"tables":{%s}}\n' % (VERSION, self._session, tables))

    def copy(self) -> ContentDigest:
        """Return another digest that has taken the same records, and goes on by itself."""
        other = ContentDigest(self._canonical, conversation=self._conversation)
        other._sha = self._sha.copy()
        other._session = self._session
        other._tables = {name: list(rows) for name, rows in self._tables.items()}
        other._open = self._open
        other.records = self.records
        return other

    def hexdigest(self) -> str:
        """Return the digest of all that was taken, as 64 lower-case hex digits; nothing may be taken after it."""
        if self._open:
            self._close_facts()
        return self._sha.hexdigest()


def _name(table: str) -> bytes:
    return table.encode("utf-8", "surrogatepass")


def content_digest(records: Iterable[Record], canonical: Canonical, *, conversation: str = "messages") -> str:
    """Return the content digest of a session's records."""
    digest = ContentDigest(canonical, conversation=conversation)
    for record in records:
        digest.add(record)
    return digest.hexdigest()


def lineage_digest(digests: Sequence[str]) -> str:
    """Return the digest of a lineage: SHA-256 over its segments' hex digests, root first, each with a newline."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()

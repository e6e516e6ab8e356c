"""
Makes a redactor of a policy: the one place where rules, packs, keys and reports come together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.redaction import personal
from satchel.redaction.policy import Policy
from satchel.redaction.spans import Span, merged
from satchel.redaction.tags import TagKey

if TYPE_CHECKING:
    from satchel.contracts import Redactor
    from satchel.redaction.report import Report

__all__ = ["InForce", "build"]


class InForce:
    """
    A policy at work on one family of sessions after the other: what it spares, what its packs learned so far.

    Attributes:
        digest: Of the policy, for the manifest.
        given: Values that go wherever they stand, with the kind each goes by.
        drop_media: Pictures, fonts and sounds give way to a note of their kind and size.
    """

    def __init__(self, policy: Policy, tags: TagKey) -> None:
        self.digest = policy.digest
        self.given: Mapping[str, str] = {secret.value: secret.kind for secret in policy.secrets}
        self.drop_media = policy.drop_media
        self.packs = personal.packs(policy.packs, people=policy.people, hosts=policy.hosts)
        self._policy = policy
        self._tag = tags.tag

    def __repr__(self) -> str:
        return "InForce()"

    def begin(self) -> None:
        """Forget what the packs learned: another family of sessions begins."""
        for pack in self.packs:
            pack.begin()

    def allows(self, value: str, rule: str, /) -> bool:
        """Return whether what a rule found may stay."""
        return self._policy.spares(rule, value, self._tag)

    def find(self, text: str, /) -> Sequence[Span]:
        """Return the personal data that the packs know by now; they learn from the text too."""
        if not self.packs:
            return ()
        for pack in self.packs:
            pack.learn(text)
        return merged([span for pack in self.packs for span in pack.find(text)])

    def may_hold(self, raw: bytes, /) -> bool:
        """Return False only if `find` finds nothing in any string of a serialised record."""
        return bool(self.packs)

    def placeholder(self, kind: str, value: str) -> str | None:
        """Return what stands for personal data, None for any other kind."""
        return personal.placeholder(kind, value, self._tag) if kind in personal.KINDS else None


def build(policy: Policy | None = None, *, tags: TagKey, report: Report | None = None, native: bool = True) -> Redactor:
    """
    Return the redactor of a policy, by default of the built-in rules.

    Args:
        report: Is told what is replaced.
        native: Use compiled libraries where they are; what is found does not depend on it.
    """
    policy = policy if policy is not None else Policy()
    if policy.skeleton:
        from satchel.redaction.skeleton import Skeleton

        return Skeleton(tags.tag, digest=policy.digest)
    from satchel.redaction.engine import Engine
    from satchel.redaction.redactor import SecretRedactor

    engine = Engine(policy.rules, native=native)
    return SecretRedactor(engine, tags=tags, policy=InForce(policy, tags), report=report, forms=_forms, native=native)


def _forms(value: str) -> Mapping[str, str]:
    """Return the forms in which a value may stand."""
    from satchel.redaction.encodings import variants

    return variants(value)

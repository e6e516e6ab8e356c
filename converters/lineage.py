"""
How sessions hang together: families, and the chains that compression makes of one conversation.

Only facts that a scan gives are used; nothing is read here. What kind a child is, its reader has decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from satchel.errors import NotFound

if TYPE_CHECKING:
    from satchel.contracts import Lineage, SessionInfo

__all__ = ["Families"]


class _Node(NamedTuple):
    parent: str | None
    kind: str | None
    started: float
    newest: float
    rank: int
    """As a continuation: 2 if it was compressed itself, 1 if it is live, else 0."""


class Families:
    """
    The families of one store's sessions, by id; about 300 bytes a session are kept.

    A family is what parent links join. The result does not depend on the order of the scan. A parent that is missing from it does
    not join its children; a link that closes a cycle is cut at the cycle's earliest member, which so becomes a root.

    Args:
        infos: A scan with counts: the choice between several continuations needs `last_active`.
    """

    def __init__(self, infos: Iterable[SessionInfo] = ()) -> None:
        self._nodes: dict[str, _Node] = {}
        for info in infos:
            self.add(info)

    def add(self, info: SessionInfo) -> None:
        """Take one more session of the scan, before the first question is asked."""
        started = _number(info.started_at)
        node = _Node(
            info.parent or None,
            info.lineage,
            started,
            started if info.last_active is None else _number(info.last_active),
            2 if info.end_reason == "compression" else 1 if info.live else 0,
        )
        other = self._nodes.get(info.id)
        if other is None or _comparable(node) < _comparable(other):
            self._nodes[info.id] = node

    @cached_property
    def _heads(self) -> frozenset[str]:
        return self._cycle_heads()

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for session_id, node in self._nodes.items():
            if node.parent in self._nodes:
                children.setdefault(node.parent, []).append(session_id)
        for siblings in children.values():
            siblings.sort(key=self._place)
        return children

    @cached_property
    def _next(self) -> dict[str, str]:
        tips = ((parent, self._continuation(siblings)) for parent, siblings in self._children.items())
        return {parent: tip for parent, tip in tips if tip is not None}

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._nodes

    def _place(self, session_id: str) -> tuple[float, str]:
        return self._nodes[session_id].started, session_id

    def _cycle_heads(self) -> frozenset[str]:
        nodes = self._nodes
        heads: set[str] = set()
        done: set[str] = set()
        for session_id, node in nodes.items():
            if node.parent not in nodes or session_id in done:
                continue
            path: dict[str, None] = {}
            at: str | None = session_id
            while at in nodes and at not in done and at not in path:
                path[at] = None
                at = nodes[at].parent
            if at in path:
                steps = list(path)
                heads.add(min(steps[steps.index(at) :], key=self._place))
            done.update(path)
        return frozenset(heads)

    def _continuation(self, siblings: Iterable[str]) -> str | None:
        nodes = self._nodes
        fit = [child for child in siblings if nodes[child].kind == "continuation" and child not in self._heads]
        # The same order as upstream's, so that both follow a conversation to the same end.
        return max(fit, key=lambda child: (nodes[child].rank, nodes[child].newest, *self._place(child)), default=None)

    def groups(self) -> Iterator[list[str]]:
        """
        Yield the families by their roots' start and id, each as its ids: parents before children, siblings by start and id.

        A session without a time counts as started at 0.
        """
        nodes, heads, children = self._nodes, self._heads, self._children
        roots = [session_id for session_id, node in nodes.items() if node.parent not in nodes or session_id in heads]
        for root in sorted(roots, key=self._place):
            family: list[str] = []
            todo = [root]
            while todo:
                session_id = todo.pop()
                family.append(session_id)
                todo += (child for child in reversed(children.get(session_id, ())) if child not in heads)
            yield family

    def order(self) -> Iterator[str]:
        """Yield every id once, in the order of an export: family by family, as `groups` has them."""
        for family in self.groups():
            yield from family

    def chain(self, session_id: str) -> list[str]:
        """
        Return the conversation that the session is a part of: the compressed segments from the first to the newest.

        Of several continuations of one parent the chain follows those that were compressed themselves before live ones before
        the rest, and among equals the one with the newest message, then start, then id; each of the others begins a chain.

        Raises:
            NotFound: No session has this id.
        """
        self._node(session_id)
        at = session_id
        while (parent := self._previous(at)) is not None:
            at = parent
        return self._from(at)

    def tip(self, session_id: str) -> str:
        """Return the newest segment of the session's chain. Raises NotFound."""
        self._node(session_id)
        at = session_id
        while at in self._next:
            at = self._next[at]
        return at

    def chains(self) -> Iterator[list[str]]:
        """Yield every chain once, in the order of their first segments; each session is in exactly one."""
        for session_id in self.order():
            if self._previous(session_id) is None:
                yield self._from(session_id)

    def _from(self, first: str) -> list[str]:
        segments = [first]
        while segments[-1] in self._next:
            segments.append(self._next[segments[-1]])
        return segments

    def _previous(self, session_id: str) -> str | None:
        parent = self._nodes[session_id].parent
        return parent if parent is not None and self._next.get(parent) == session_id else None

    def _node(self, session_id: str) -> _Node:
        try:
            return self._nodes[session_id]
        except KeyError:
            raise NotFound(f"no session {session_id!r} among the {len(self._nodes)} of this store", subject=session_id) from None

    def descendants(self, session_id: str, kinds: Collection[Lineage] | None = None) -> list[str]:
        """
        Return the children, their children and so on, parents first; with `kinds`, through children of these kinds only.

        In a cycle every other member is a descendant. The session itself never is one. Raises NotFound.
        """
        self._node(session_id)
        seen = {session_id}
        found: list[str] = []
        todo = [session_id]
        while todo:
            at = todo.pop()
            if at != session_id:
                found.append(at)
            for child in reversed(self._children.get(at, ())):
                if child not in seen and (kinds is None or self._nodes[child].kind in kinds):
                    seen.add(child)
                    todo.append(child)
        return found

    def ancestors(self, session_id: str) -> list[str]:
        """
        Return the parent, its parent and so on, nearest first, as far as the store has them.

        In a cycle every other member is an ancestor. The session itself never is one. Raises NotFound.
        """
        seen = {session_id}
        found: list[str] = []
        at = self._node(session_id).parent
        while at in self._nodes and at not in seen:
            seen.add(at)
            found.append(at)
            at = self._nodes[at].parent
        return found


def _number(value: float | None) -> float:
    return value if value is not None and value - value == 0.0 else 0.0


def _comparable(node: _Node) -> tuple[float, float, int, str, str]:
    return node.started, node.newest, node.rank, node.parent or "", node.kind or ""

"""Session ids as people give them: whole, the beginning of one, or a link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from satchel.errors import AmbiguousId, NotFound, UsageError

if TYPE_CHECKING:
    from satchel.contracts import SessionInfo

__all__ = ["resolve_ids", "split_id"]

_LINK = "@session:"
_NAMED = 5
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def split_id(given: str) -> tuple[str | None, str]:
    """
    Return the profile, or None, and the id that `<id>` or `@session:<profile>/<id>` names; the default profile is "default".

    Raises:
        UsageError: There is no id in it.
    """
    profile, session_id = "", given
    if given.startswith(_LINK):
        profile, slash, session_id = given.removeprefix(_LINK).partition("/")
        if not slash:
            profile, session_id = "", profile
    if not session_id.strip():
        raise UsageError(f"{given!r} names no session: give an id or the beginning of one", subject=given)
    return profile or None, session_id


class _Wanted:
    """One id that a user gave, and what fits it so far: never more than the ids that an error names."""

    __slots__ = ("exact", "given", "id", "prefixed", "profile")

    def __init__(self, given: str) -> None:
        self.given = given
        self.profile, self.id = split_id(given)
        self.exact: list[SessionInfo] = []
        self.prefixed: dict[str, list[SessionInfo]] = {}

    def add(self, info: SessionInfo, *, exact: bool) -> None:
        if (
            self.profile is not None
            and (info.profile or "default").casefold() != self.profile.casefold()
            and info.id != self.given
        ):
            return
        if exact:
            self.exact.append(info)
        elif info.id in self.prefixed or len(self.prefixed) <= _NAMED:
            self.prefixed.setdefault(info.id, []).append(info)

    def found(self) -> list[SessionInfo]:
        if self.exact:
            return self.exact
        if len(self.prefixed) > 1:
            named = ", ".join(list(self.prefixed)[:_NAMED])
            more = " and more" if len(self.prefixed) > _NAMED else ""
            raise AmbiguousId(f'"{self.given}" fits several sessions: {named}{more}; give more of the id', subject=self.given)
        return next(iter(self.prefixed.values()), [])


def resolve_ids(wanted: Iterable[str], infos: Iterable[SessionInfo]) -> list[SessionInfo]:
    """
    Return the sessions that the ids name, in the order of the ids and each once, after one pass over the scan.

    An id is taken exactly; else as the beginning of exactly one id, ASCII letters without regard to case. A link
    `@session:<profile>/<id>` looks in that profile alone. An id that several stores hold gives all of them: it is no ambiguity.

    Raises:
        UsageError: An id is empty.
        NotFound: No session fits one of the ids; its subclass AmbiguousId when one fits several.
    """
    wants = [_Wanted(given) for given in dict.fromkeys(wanted)]
    exact: dict[str, list[_Wanted]] = {}
    # By length, so that the cost of a session does not grow with the number of ids.
    prefixes: dict[int, dict[str, list[_Wanted]]] = {}
    for want in wants:
        for form in dict.fromkeys((want.id, want.given)):
            exact.setdefault(form, []).append(want)
        prefixes.setdefault(len(want.id), {}).setdefault(_ascii_lower(want.id), []).append(want)
    looked_at = 0
    for info in infos:
        looked_at += 1
        for want in exact.get(info.id, ()):
            want.add(info, exact=True)
        folded = _ascii_lower(info.id)
        for length, table in prefixes.items():
            for want in table.get(folded[:length], ()):
                want.add(info, exact=False)
    missing = [want.given for want in wants if not want.exact and not want.prefixed]
    if missing:
        named = ", ".join(f'"{given}"' for given in missing[:_NAMED]) + (" and more" if len(missing) > _NAMED else "")
        what = "session" if len(missing) == 1 else "sessions"
        raise NotFound(f"no {what} {named} among the {looked_at} that were looked at", subject=missing[0])
    return list({id(info): info for want in wants for info in want.found()}.values())


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)

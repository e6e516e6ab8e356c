"""
Frozen dataclasses that cost little to define.

`dataclass(frozen=True, slots=True)` compiles six methods for every class, which takes a quarter of a millisecond whenever the
program starts. Here the classes share theirs; what they do is the same, and `dataclasses.fields` and `replace` work.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["frozen"]

if TYPE_CHECKING:
    from dataclasses import dataclass as frozen  # So that type checkers know the constructor; they are told frozen=True.
else:

    def frozen(*, frozen: bool, slots: bool, kw_only: bool = False):
        """Return what makes a class a frozen dataclass with slots; both have to be said, for those who read it."""
        assert (frozen, slots) == (True, True)

        def make(plain):
            made = dataclass(plain, slots=True, kw_only=kw_only, init=False, repr=False, eq=False)
            for method in (_init, _repr, _eq, _hash, _setattr, _delattr, _getstate, _setstate):
                setattr(made, f"_{method.__name__}__", method)  # _init becomes __init__
            return made

        return make


def _init(self: Any, *values: Any, **named: Any) -> None:
    # Compiled when the first one of a class is made: most classes are not used in a run, and some are very often.
    kind = type(self)
    kind.__init__ = _compiled(kind)
    kind.__init__(self, *values, **named)


def _compiled(kind: Any) -> Any:
    known: dict[str, Any] = {"_MISSING": MISSING}
    takes: dict[bool, list[str]] = {False: ["self"], True: ["*"]}
    does: list[str] = []
    for name, field in kind.__dataclass_fields__.items():
        known[f"_set_{name}"] = kind.__dict__[name].__set__
        value = name
        if field.default_factory is not MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if field.init else f"_make_{name}()"
        elif field.default is not MISSING:
            known[f"_{name}"] = field.default
            value = name if field.init else f"_{name}"
        if field.init:
            default = "=_MISSING" if field.default_factory is not MISSING else f"=_{name}" if f"_{name}" in known else ""
            takes[field.kw_only].append(name + default)
        does.append(f"_set_{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        does.append("self.__post_init__()")
    arguments = ", ".join(takes[False] + (takes[True] if len(takes[True]) > 1 else []))
    exec(f"def __init__({arguments}):\n " + "\n ".join(does or ["pass"]), known)
    known["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"
    return known["__init__"]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name, field in self.__dataclass_fields__.items() if field.compare])


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, field in self.__dataclass_fields__.items() if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)

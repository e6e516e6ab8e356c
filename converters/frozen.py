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
    kind = type(self)
    if values:
        names = kind.__match_args__
        twice = [name for name in names[: len(values)] if name in named]
        if twice or len(values) > len(names):
            what = f"multiple values for argument {twice[0]!r}" if twice else f"{len(values)} positional arguments"
            raise TypeError(f"{kind.__qualname__} got {what}")
        named.update(zip(names, values, strict=False))
    for name, field in kind.__dataclass_fields__.items():
        if field.init and name in named:
            value = named.pop(name)
        elif field.default is not MISSING:
            value = field.default
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            raise TypeError(f"{kind.__qualname__} is missing the argument {name!r}")
        object.__setattr__(self, name, value)
    if named:
        raise TypeError(f"{kind.__qualname__} got an unexpected argument {next(iter(named))!r}")
    if hasattr(kind, "__post_init__"):
        self.__post_init__()


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

"""
Frozen dataclasses that cost little to define.

`dataclass(frozen=True, slots=True)` compiles six methods for every class, which takes a quarter of a millisecond whenever the
program starts, and loading `dataclasses` itself takes as long as twenty of them. Here the classes share their methods, and
`dataclasses` is loaded when it is asked about one; what they do is the same, and its `fields` and `replace` work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["frozen", "maker"]

_MISSING: Any = object()

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as frozen  # So that type checkers know the constructor; they are told frozen=True.
    from typing import ParamSpec, TypeVar

    Arguments = ParamSpec("Arguments")
    Instance = TypeVar("Instance")
else:

    def frozen(*, frozen: bool, slots: bool, kw_only: bool = False):
        """Return what makes a class a frozen dataclass with slots; both have to be said, for those who read it."""
        assert (frozen, slots) == (True, True)

        def make(plain):
            assert plain.__bases__ == (object,)
            fields = {name: _Field(plain.__dict__.get(name, _MISSING), kw_only) for name in plain.__annotations__}
            body = {name: value for name, value in plain.__dict__.items() if name not in fields and name not in _NOT_TAKEN}
            for method in (_init, _repr, _eq, _hash, _setattr, _delattr, _getstate, _setstate, _replace):
                body[f"_{method.__name__}__"] = method  # _init becomes __init__
            body["__slots__"] = tuple(fields)
            body["__match_args__"] = tuple(name for name, field in fields.items() if field.init and not field.kw_only)
            body[_FIELDS] = fields
            for name in ("__dataclass_fields__", "__dataclass_params__"):
                body[name] = _Later(name, plain, kw_only)
            made = type(plain.__name__, (object,), body)
            made.__qualname__ = plain.__qualname__
            return made

        return make


_FIELDS = "__frozen_fields__"
_NOT_TAKEN = frozenset(("__dict__", "__weakref__"))


class _Field:
    """What is said of a field, by its default alone or by `dataclasses.field`."""

    __slots__ = ("compare", "default", "factory", "init", "kw_only", "repr")

    def __init__(self, said: Any, kw_only: bool) -> None:
        self.default, self.factory = said, _MISSING
        self.init = self.repr = self.compare = True
        self.kw_only = kw_only
        if type(said).__module__ == "dataclasses" and type(said).__name__ == "Field":
            from dataclasses import MISSING

            self.default = _MISSING if said.default is MISSING else said.default
            self.factory = _MISSING if said.default_factory is MISSING else said.default_factory
            self.init, self.repr, self.compare = said.init, said.repr, said.compare
            self.kw_only = kw_only if said.kw_only is MISSING else said.kw_only


class _Later:
    """An attribute that `dataclasses` gives its classes, made when it is first looked at."""

    __slots__ = ("kw_only", "name", "plain")

    def __init__(self, name: str, plain: Any, kw_only: bool) -> None:
        self.name = name
        self.plain = plain
        self.kw_only = kw_only

    def __get__(self, instance: object, kind: Any) -> Any:
        from dataclasses import dataclass

        if self.name not in self.plain.__dict__:
            dataclass(self.plain, kw_only=self.kw_only, init=False, repr=False, eq=False)
        setattr(kind, self.name, self.plain.__dict__[self.name])
        return self.plain.__dict__[self.name]


def _init(self: Any, *values: Any, **named: Any) -> None:
    # Compiled when the first one of a class is made: most classes are not used in a run, and some are very often.
    kind = type(self)
    kind.__init__ = _compiled(kind)
    kind.__init__(self, *values, **named)


def maker(kind: Callable[Arguments, Instance]) -> Callable[Arguments, Instance]:
    """
    Return a function that makes instances of such a class as calling it does, in a third of the time.

    It is for those that are made once for every line or row. Nothing of a class can be set when it is frozen, but by the long
    way; so they are filled as instances of another class of the same slots, and then said to be of their own.
    """
    made: Callable[Arguments, Instance] = _compiled(kind, whole=True)
    return made


def _compiled(kind: Any, *, whole: bool = False) -> Any:
    """Compile the method that fills an instance, or the function that makes a `whole` one."""
    known: dict[str, Any] = {"_MISSING": _MISSING}
    takes: dict[bool, list[str]] = {False: [] if whole else ["self"], True: ["*"]}
    does: list[str] = []
    if whole:
        known |= {"_Kind": kind, "_Open": type(f"Open{kind.__name__}", (object,), {"__slots__": kind.__slots__})}
        does.append("self = _Open()")
    for name, field in kind.__frozen_fields__.items():
        known[f"_set_{name}"] = kind.__dict__[name].__set__
        value = name
        if field.factory is not _MISSING:
            known[f"_make_{name}"] = field.factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if field.init else f"_make_{name}()"
        elif field.default is not _MISSING:
            known[f"_{name}"] = field.default
            value = name if field.init else f"_{name}"
        if field.init:
            default = "=_MISSING" if field.factory is not _MISSING else f"=_{name}" if f"_{name}" in known else ""
            takes[field.kw_only].append(name + default)
        does.append(f"self.{name} = {value}" if whole else f"_set_{name}(self, {value})")
    if whole:
        does.append("self.__class__ = _Kind")
    if hasattr(kind, "__post_init__"):
        does.append("self.__post_init__()")
    if whole:
        does.append("return self")
    arguments = ", ".join(takes[False] + (takes[True] if len(takes[True]) > 1 else []))
    name = "make" if whole else "__init__"
    exec(f"def {name}({arguments}):\n " + "\n ".join(does or ["pass"]), known)
    known[name].__qualname__ = f"{kind.__qualname__}.{name}"
    return known[name]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name, field in self.__frozen_fields__.items() if field.compare])


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, field in self.__frozen_fields__.items() if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(self: Any, name: str, value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__frozen_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__frozen_fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(self, **changes)

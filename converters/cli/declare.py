"""
What a command takes, said without click, which loads longer than many a command runs.

Words that are as they were declared are read here. Whatever needs explaining (help, a mistake, an odd spelling) is left to click,
which is told the same declarations and reads the words from the beginning (`satchel.cli.explained`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from satchel.cli.running import Run

__all__ = ["Command", "Param", "argument", "command", "option"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Param:
    """
    An option or an argument of a command.

    Attributes:
        spellings: How an option is written ("-q", "--quiet"); none for an argument.
        name: What the command's function calls its value.
        flag: Whether it is given without a value, and is true then.
        multiple: Whether it may be repeated, and an argument may be any number of words; its value is a tuple of all of them.
        required: Whether an argument has to be given.
        default: The value of what is not given.
        choices: The words it takes, when it takes no others.
        least: The least value of a whole number, when it takes nothing else.
        metavar, help: What the help calls its value, and says of it.
    """

    __slots__ = ("choices", "default", "flag", "help", "least", "metavar", "multiple", "name", "required", "spellings")

    def __init__(
        self,
        words: Sequence[str],
        *,
        flag: bool = False,
        multiple: bool = False,
        required: bool = False,
        default: Any = None,
        choices: Sequence[str] = (),
        least: int | None = None,
        metavar: str | None = None,
        help: str | None = None,
    ) -> None:
        self.spellings = tuple(word for word in words if word.startswith("-"))
        names = [word for word in words if not word.startswith("-")]
        self.name = names[0] if names else self.spellings[-1].lstrip("-").replace("-", "_")
        self.flag = flag
        self.multiple = multiple
        self.required = required
        self.default = False if flag else () if multiple else default
        self.choices = choices
        self.least = least
        self.metavar = metavar
        self.help = help

    def value(self, word: str) -> Any:
        """Return what a word says as its value. Raises ValueError for one that is not plainly a value of it."""
        if not word or (self.choices and word not in self.choices):
            raise ValueError
        if self.least is None:
            return word
        if not (word.isascii() and word.isdigit()) or int(word) < self.least:
            raise ValueError
        return int(word)


class Command:
    """A command as it is declared: `function` takes the values by name and returns the exit status."""

    def __init__(self, function: Callable[..., int], *, name: str, epilog: str, params: Iterable[Param]) -> None:
        self.function = function
        self.name = name
        self.epilog = epilog
        self.params = tuple(params)

    def read(self, words: Sequence[str]) -> dict[str, Any] | None:
        """Return the values that the words after the command's name give; None for words that click has to look at."""
        by_spelling = {spelling: param for param in self.params for spelling in param.spellings}
        values: dict[str, Any] = {param.name: param.default for param in self.params}
        alone: list[str] = []
        rest = iter(words)
        try:
            for word in rest:
                if word[:1] != "-" or word == "-":
                    alone.append(word)
                    continue
                spelling, equals, value = word.partition("=")
                param = by_spelling[spelling]
                if param.flag:
                    if equals:
                        return None
                    values[param.name] = True
                    continue
                given = param.value(value if equals else next(rest))
                values[param.name] = values[param.name] + (given,) if param.multiple else given
            arguments = [param for param in self.params if not param.spellings]
            many = arguments[-1] if arguments and arguments[-1].multiple else None
            most = len(arguments) if many is None else len(alone)
            if not sum(param.required for param in arguments) <= len(alone) <= most:
                return None
            for param, word in zip(arguments, alone, strict=False):
                values[param.name] = param.value(word)
            if many is not None:
                values[many.name] = tuple(map(many.value, alone[len(arguments) - 1 :]))
        except (KeyError, ValueError, StopIteration):
            return None
        return values

    def __call__(self, *, strict: bool = False, **values: Any) -> int:
        """Run the command with values as `read` gives them, and return its exit status."""
        with Run(self.name) as now:
            status = self.function(**values)
        return 3 if not status and strict and now.problems else status


_PARAMS = "__satchel_params__"


def command(*, name: str, epilog: str) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function; its docstring is the help."""

    def made(function: Callable[..., int]) -> Command:
        # Decorators are applied from the last to the first.
        return Command(function, name=name, epilog=epilog, params=reversed(getattr(function, _PARAMS, [])))

    return made


def option(*words: str, **settings: Any) -> Callable[[Function], Function]:
    """Add an option: its spellings and, where they do not say it, its name; the settings are those of `Param`."""
    return _adding(Param(words, **settings))


def argument(
    name: str, *, required: bool = True, multiple: bool = False, metavar: str | None = None
) -> Callable[[Function], Function]:
    """Add an argument; those that are not required are the last ones, and one that is any number of words is the last."""
    return _adding(Param([name], required=required, multiple=multiple, metavar=metavar))


def _adding(param: Param) -> Callable[[Function], Function]:
    def add(function: Function) -> Function:
        function.__dict__.setdefault(_PARAMS, []).append(param)
        return function

    return add

"""The facts at the head of a document, as YAML that every parser reads the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["front_matter", "yaml_text"]

# The parser's library, where it is there, writes the same bytes several times as fast.
_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WIDE = 2**31 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
# What turns the direction of what stands around it is written as an escape, as all that can't be seen is.
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SIMPLE = re.compile(r"[A-Za-z0-9 ._:/@+-]{0,200}")


class _Key(str):
    """A name that stands without quotes."""

    __slots__ = ()


class _Dumper(_Base):  # type: ignore[misc]
    """Writes texts in double quotes: without them `no`, `1e3` and `2026-01-01` mean something else to some parsers."""


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
_Dumper.add_representer(_Key, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text)))


def _keyed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_Key(name): _keyed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_keyed(item) for item in value]
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


def yaml_text(facts: Mapping[str, Any]) -> str:
    """Return facts as a YAML mapping: names in their own order, texts in double quotes, each in one line."""
    return "".join(_line(name, value) for name, value in facts.items())


def _line(name: str, value: Any) -> str:
    said = _simple(value)
    if not said:
        text = str(yaml.dump(_keyed({name: value}), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDE))
        return _TURNING.sub(lambda found: f"\\u{ord(found[0]):04X}", text)
    return f"{name}:{said}\n" if said[0] == "\n" else f"{name}: {said}\n"


def _simple(value: Any) -> str:
    """Return what the emitter writes of most values, which takes it long; "" for those that need its care."""
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is list:
        items = [_simple(item) for item in value if type(item) is str]
        return "\n- ".join(["", *items]) if items and all(items) and len(items) == len(value) else ""
    return f'"{value}"' if kind is str and _SIMPLE.fullmatch(value) else ""


def front_matter(facts: Mapping[str, Any]) -> bytes:
    """Return the block that a document begins with."""
    return f"---\n{yaml_text(facts)}---\n".encode()

"""The facts at the head of a document, as YAML that every parser reads the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from satchel.formats.turns import visible

__all__ = ["front_matter", "yaml_text"]

# The parser's library, where it is there, writes the same bytes several times as fast.
_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WIDE = 2**31 - 1
_LONG = 2000


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
    if isinstance(value, str):
        return visible(value[:_LONG]).replace("\n", " ")
    return value


def yaml_text(facts: Mapping[str, Any]) -> str:
    """Return facts as a YAML mapping: names in their own order, texts in double quotes, each in one line."""
    return str(
        yaml.dump(_keyed(facts), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDE, default_flow_style=None)
    )


def front_matter(facts: Mapping[str, Any]) -> bytes:
    """Return the block that a document begins with."""
    return f"---\n{yaml_text(facts)}---\n".encode()

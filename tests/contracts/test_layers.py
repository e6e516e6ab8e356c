"""
Which part may import which: the leaves nothing of ours, the three rooms only the leaves, and nobody the command line.

Imports inside functions count; imports for type checkers only do not.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAVES = {
    f"satchel.{name}"
    for name in ("errors", "events", "exactjson", "frozen", "jsontext", "naming", "contracts", "digest", "timetext", "wording")
}
ROOMS = ("satchel.formats", "satchel.manifest", "satchel.redaction")

if not (ROOT / "converters").is_dir():
    pytest.skip("the folders are not here: an installed wheel is tested", allow_module_level=True)


def _modules() -> dict[str, Path]:
    folders = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
    return {
        ".".join([name, *path.relative_to(ROOT / folder).with_suffix("").parts]).removesuffix(".__init__"): path
        for name, folder in folders.items()
        for path in (ROOT / folder).rglob("*.py")
    }


MODULES = _modules()


def imported(source: str, known: set[str]) -> set[str]:
    """Return the modules of ours that a source imports when it runs; `from package import module` names the module."""
    found: set[str] = set()
    for node in _run_time(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
    return {name for name in found if name.split(".")[0] == "satchel"}


def _run_time(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            children: list[ast.AST] = list(child.orelse)
            yield from children
            for other in children:
                yield from _run_time(other)
        else:
            yield child
            yield from _run_time(child)


def forbidden(name: str, imports: set[str]) -> set[str]:
    """Return what the module must not import of that."""
    if name in LEAVES:
        wrong = imports - LEAVES
    elif room := next((room for room in ROOMS if _within(name, room)), None):
        wrong = {i for i in imports if i not in LEAVES and not _within(i, room)}
    else:
        wrong = set()
    if not _within(name, "satchel.cli") and name != "satchel.__main__":
        wrong |= {i for i in imports if _within(i, "satchel.cli")}
    return wrong


def _within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_downwards(name: str) -> None:
    imports = imported(MODULES[name].read_text("utf-8"), set(MODULES))
    assert set() == forbidden(name, imports)


def test_the_leaves_are_there() -> None:
    assert set(MODULES) >= LEAVES


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("satchel.errors", "import satchel.pipeline", {"satchel.pipeline"}),
        ("satchel.errors", "from satchel.events import Problem", set()),
        ("satchel.formats.x", "from satchel.manifest.target import Files", {"satchel.manifest.target"}),
        ("satchel.formats.x", "def f():\n    from satchel import redaction", {"satchel.redaction"}),
        ("satchel.formats.x", "from satchel.formats import model\nfrom satchel.digest import Digest", set()),
        ("satchel.formats.x", "import satchel", {"satchel"}),
        ("satchel.redaction.x", "from satchel.selection import Selection", {"satchel.selection"}),
        ("satchel.pipeline", "import satchel.cli.export", {"satchel.cli.export"}),
        ("satchel.cli.export", "from satchel.cli import main\nfrom satchel import pipeline", set()),
        ("satchel.contracts", "if TYPE_CHECKING:\n    from satchel.formats.model import Entry", set()),
        ("satchel.contracts", "if TYPE_CHECKING:\n    pass\nelse:\n    import satchel.pipeline", {"satchel.pipeline"}),
    ],
)
def test_the_rule_itself(name: str, source: str, wrong: set[str]) -> None:
    known = {"satchel.redaction", "satchel.formats.model", "satchel.pipeline"}
    assert wrong == forbidden(name, imported(source, known))

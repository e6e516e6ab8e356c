"""The folders are one package: every part is listed, has one name, and says what is public."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import satchel

PUBLIC: list[str] = getattr(satchel, "__all__", [])
ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
FOLDERS: dict[str, str] = SETUPTOOLS["package-dir"]

in_the_tree = pytest.mark.skipif(
    not (ROOT / "converters").is_dir(), reason="the folders are not here: an installed wheel is tested"
)


@in_the_tree
def test_every_package_is_listed() -> None:
    found = {
        ".".join([name, *init.parent.relative_to(ROOT / folder).parts])
        for name, folder in FOLDERS.items()
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(found) == sorted(SETUPTOOLS["packages"])


@in_the_tree
def test_every_folder_with_modules_is_a_package() -> None:
    """A folder without `__init__.py` works in a checkout and is missing from the wheel."""
    homes = {module.parent for folder in FOLDERS.values() for module in (ROOT / folder).rglob("*.py")}
    assert [] == sorted(str(home.relative_to(ROOT)) for home in homes if not (home / "__init__.py").exists())


@in_the_tree
def test_package_data_is_there() -> None:
    for package, patterns in SETUPTOOLS["package-data"].items():
        parent = next(name for name in sorted(FOLDERS, key=len, reverse=True) if f"{package}.".startswith(f"{name}."))
        folder = ROOT.joinpath(FOLDERS[parent], *package.removeprefix(parent).lstrip(".").split("."))
        for pattern in patterns:
            assert list(folder.glob(pattern)), f"{package}: nothing fits {pattern}"


def test_no_module_has_two_names() -> None:
    """A module loaded both as `formats.x` and as `satchel.formats.x` has two of each class, and errors slip through."""
    for module in pkgutil.walk_packages(satchel.__path__, "satchel."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = tuple(str(Path(path).resolve()) for path in {*satchel.__path__, *(str(ROOT / f) for f in FOLDERS.values())})
    names: dict[str, list[str]] = {}
    for name, loaded in list(sys.modules.items()):
        file = getattr(loaded, "__file__", None)
        if file and str(Path(file).resolve()).startswith(ours) and name != "__main__":
            names.setdefault(str(Path(file).resolve()), []).append(name)
    assert len(names) > 5
    assert {} == {file: found for file, found in names.items() if len(found) > 1 or not found[0].startswith("satchel")}


def test_all_is_what_is_public() -> None:
    assert PUBLIC
    assert sorted(PUBLIC) == PUBLIC
    resolved = {name: getattr(satchel, name) for name in PUBLIC}
    others = {name for name in vars(satchel) if not name.startswith("_")} - {"annotations", "TYPE_CHECKING"}
    public = {name for name in others if not isinstance(getattr(satchel, name), ModuleType)}
    assert public <= set(resolved), "a name without an underscore that __all__ does not list"
    assert sorted(set(dir(satchel)) & set(resolved)) == sorted(resolved), "dir() does not show what __all__ lists"


def test_what_is_public_has_a_docstring() -> None:
    for name in PUBLIC:
        value = getattr(satchel, name)
        if callable(value):
            assert value.__doc__, f"satchel.{name} has no docstring"


def test_version_is_the_projects() -> None:
    from importlib.metadata import version

    assert PROJECT["project"]["version"] == version("satchel")


@pytest.mark.parametrize("folder", ["converters", "formats", "manifest", "redaction"])
def test_folder_names_are_not_importable_names_of_ours(folder: str) -> None:
    """`import formats` may only ever find someone else's module; ours must not have been loaded so by any test."""
    assert folder not in sys.modules or not str(getattr(sys.modules[folder], "__file__", "")).startswith(str(ROOT))

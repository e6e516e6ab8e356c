"""Hermes itself takes the sample databases for its own: it opens them, brings older ones up to date, lists and searches them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

READ = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
sessions = {s["id"]: [m["content"] for m in s["messages"]] for s in db.export_all()}
print(json.dumps({"sessions": sessions, "found": len(db.search_messages("commit"))}))
db.close()
"""


def _read(python: Path, store: Path, home: Path) -> dict[str, Any]:
    run = subprocess.run(
        [str(python), "-c", READ, str(store)],
        env=os.environ | {"HERMES_HOME": str(home)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr
    read: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return read


@pytest.mark.parametrize("schema", [5, 11, 14, 17, 19, 22, 23])
def test_hermes_reads_the_story(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    read = _read(hermes_python, hermes_db(schema), tmp_path / "home")
    assert (14, 63) == (len(read["sessions"]), sum(map(len, read["sessions"].values())))
    assert read["sessions"]["20260227_160000_01dbee"][0] == "Draft: why I like neap tides."
    assert read["sessions"]["20260305_113000_f16c0e"][0][0] == {"type": "text", "text": "Is this the blue we use on the blog?"}
    assert read["found"] > 0


@pytest.mark.parametrize("schema", [11, 22])
def test_hermes_reads_the_lineages(hermes_python: Path, hermes_db: Callable[..., Path], tmp_path: Path, schema: int) -> None:
    read = _read(hermes_python, hermes_db(schema, "lineage"), tmp_path / "home")
    assert 47 == len(read["sessions"])

"""What `build` joins: rules, packs, values and their encoded forms, in one redactor."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from redacting import KEY, token

import satchel
from satchel.redaction.building import InForce, build
from satchel.redaction.policy import Policy, make_policy
from satchel.redaction.skeleton import Skeleton

VALUE = "Quay+Lantern/4471:Bx"


def test_a_known_value_goes_in_its_encoded_forms_too(tmp_path: Path) -> None:
    (tmp_path / "values").write_text(f"{VALUE}\n")
    redactor: Any = build(make_policy(secrets_from=[tmp_path / "values"], config=os.devnull, environ={}), tags=KEY)
    forms = [
        VALUE,
        quote(VALUE, safe=""),
        base64.b64encode(VALUE.encode()).decode(),
        VALUE.encode().hex(),
        json.dumps(VALUE)[1:-1],
    ]

    for form in forms:
        assert form not in redactor.clean(f"see {form} there"), form


def test_a_skeleton_is_a_redactor_of_its_own() -> None:
    redactor = build(Policy(skeleton=True), tags=KEY)

    assert isinstance(redactor, Skeleton)
    assert redactor.digest == Policy(skeleton=True).digest != Policy().digest


def test_what_is_in_force_shows_no_value() -> None:
    assert "InForce()" == repr(InForce(Policy(), KEY))


def test_the_library_redacts_texts_files_and_exports(tmp_path: Path) -> None:
    redactor = satchel.make_redactor(tags=KEY)
    path = tmp_path / "a.txt"
    path.write_text(f"x {token()}\n")

    assert f"x [REDACTED:github-token:{KEY.tag(token())}]" == satchel.redact(f"x {token()}", redactor=redactor)
    assert ["github-token"] == [found.rule for found in satchel.scan(path, redactor=redactor)]
    assert 1 == satchel.redact_file(path, tmp_path / "b.txt", redactor=redactor).changed
    assert [] == satchel.scan(tmp_path / "b.txt", redactor=redactor)


def test_a_folder_is_redacted_into_a_folder_only(tmp_path: Path) -> None:
    with pytest.raises(satchel.SatchelError, match="folder"):
        satchel.redact_file(tmp_path, None, redactor=satchel.make_redactor(tags=KEY))

"""Packs of personal data find what they are for, and leave code, logs and versions alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from redacting import KEY

from satchel.redaction.building import build
from satchel.redaction.personal import PACKS, packs
from satchel.redaction.policy import Policy

ROOT = Path(__file__).resolve().parents[2]


def real(text: str) -> str:
    """Return a text with real roots for the marks §h, §U, §m, §r: no file of this project names a home that is not invented."""
    for mark, root in (("§h", "home"), ("§U", "Users"), ("§m", "mnt"), ("§r", "root")):
        text = text.replace(mark, f"/{root}")
    return text


def marked(kind: str, text: str, *learned: str) -> str:
    """Return the text with what the pack finds in angle quotes."""
    text = real(text)
    (pack,) = packs([kind])
    for other in (*learned, text):
        pack.learn(other)
    for span in reversed(pack.find(text)):
        text = f"{text[: span.start]}«{text[span.start : span.end]}»{text[span.end :]}"
    return text


FOUND = [
    ("home-user", "cd /home/«marek»/work && ls §U/«jane.doe»/x."),
    ("home-user", r"C:\Users\«marek»\src, C:\\Users\\«marek»\\src, §m/c§U/«marek»/src"),
    ("home-user", "projects/-home-«marek»-work/a.jsonl, file:///home/«marek», %2Fhome%2F«marek»%2Fx"),
    ("home-user", "/home/«marek»/x by «Marek», «marek»_notes; ask «marek»"),
    ("home-user", "~«marek»/notes USER=«marek»"),
    ("home-user", "§h/«bo»/x, said bo"),
    ("emails", "Ann <«a.b+c@quay.io»>, «jo@wharf.co.uk»; mailto:«ann@quay.io»"),
    ("hosts", "ann@«birch-box»:~/work$ make"),
    ("hosts", "[ann@«birch-box» work]$ make; «birch-box» is up"),
    ("hosts", "ssh -p 22 ann@«birch.quay.io» uptime"),
    ("hosts", "curl http://«wiki.quay.corp»/x and «nas-01.local», ping «printer.lan»"),
    ("phones", "+49 30 1234567", ),
    ("phones", "call «(212) 555-4567» or «212-555-4567», «212.555.4567»"),
    ("phones", "tel: «030 1234567», WhatsApp «+4915112345678»"),
    ("ips", "from «81.2.69.142» port 22, http://«93.184.216.34»:80/"),
    ("ips", "ping «2a00:1450:4001:81b::200e»"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), FOUND, ids=range(len(FOUND)))
def test_a_pack_finds_its_kind(kind: str, text: str) -> None:
    text = real(text)
    expected = text if "«" in text else f"«{text}»"

    assert expected == marked(kind, re.sub("[«»]", "", text))


LEFT = [
    ("home-user", "§h/runner/work §U/Shared /home/user/x §h/node/app §r/x ~root/x"),
    ("home-user", "https://quay.io§h/harbour and <Route path='§h/dashboard'> and --home-dir"),
    ("home-user", "/home/user-1c9a02/x $HOME/x ~/x ~1.2/x"),
    ("emails", "git@github.com:quay/x.git noreply@quay.io ann@example.com 41+ann@users.noreply.github.com"),
    ("emails", "icon@2x.png w@x.transpose() foo@1.2.3 @pytest.mark.slow a@b postgres://u:p@db.quay.io/x npm i left@latest"),
    ("hosts", "threading.local() self.local com.quay.internal settings.local.json .env.local CLAUDE.local.md"),
    ("hosts", "http://host.docker.internal:8080 http://localhost:3000 x.svc.cluster.local git@github.com:quay/x ssh key"),
    ("hosts", "ann@laptop said: the laptop is slow"),
    ("phones", "2026-03-04 10:11:12 +0000, 550e8400-e29b-41d4-a716-446655440000, 1767225600.123, 0x1234567890"),
    ("phones", "id 1212-555-45678-1, https://quay.io/212-555-4567, v1.22.333.4444, 123456789012, msg_2125554567"),
    ("phones", "-old\n+1234567890\n+ 12345678", ),
    ("ips", "127.0.0.1 10.0.0.1 192.168.1.1 172.16.0.9 192.0.2.7 169.254.1.1 0.0.0.0 255.255.255.0 8.8.8.8"),
    ("ips", "v1.2.3.4 1.2.3.4 Chrome/120.0.6099.109 ==5.4.33.21 version: 23.4.52.61 1.2.3.4.5 256.1.1.1 python 3.11.7.0"),
    ("ips", "2001:db8::1 fe80::1 ::1 12:34:56 a::b std::vector aa:bb:cc:dd:ee:ff"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), LEFT, ids=range(len(LEFT)))
def test_a_pack_leaves_what_only_looks_like_it(kind: str, text: str) -> None:
    assert real(text) == marked(kind, text)


@pytest.mark.parametrize("kind", PACKS)
def test_this_projects_own_code_and_pages_name_nobody(kind: str) -> None:
    """Ordinary code: what is found in it is what its tests and pages invent, and nothing else."""
    allowed = {"home-user": 2, "emails": 0, "hosts": 1, "phones": 0, "ips": 0}
    count = 0
    for folder in ("converters", "formats", "manifest"):
        for path in (ROOT / folder).rglob("*.py"):
            (pack,) = packs([kind])
            pack.learn(text := path.read_text())
            count += len(pack.find(text))
    assert count <= allowed[kind]


def test_names_are_learned_from_the_family_and_forgotten_with_it() -> None:
    (pack,) = packs(["home-user"])
    pack.learn("cd /home/marek/x")
    assert 1 == len(pack.find("marek was here"))
    pack.begin()
    assert [] == pack.find("marek was here")


def test_a_word_is_not_replaced_inside_another_one() -> None:
    assert real("§h/«wren»/x wrench «wren» rewren") == marked("home-user", "§h/wren/x wrench wren rewren")


@pytest.mark.parametrize("name", ["mark", "will", "ken", "key"])
def test_a_name_that_is_a_word_goes_from_paths_only(name: str) -> None:
    assert real(f"§h/«{name}»/x and {name}") == marked("home-user", f"§h/{name}/x and {name}")


def test_hosts_of_the_users_choice_go_with_all_below_them() -> None:
    (pack,) = packs(["hosts"], hosts=["quay.io"])
    text = "see db7.eu.quay.io and quay.io, not notquay.io"
    assert ["db7.eu.quay.io", "quay.io"] == [text[span.start : span.end] for span in pack.find(text)]


def redacted(text: str, *names: str) -> str:
    redactor: Any = build(Policy(packs=names), tags=KEY)
    return str(redactor.clean(text))


def test_placeholders_keep_paths_paths_and_do_not_go_again() -> None:
    once = redacted("/home/marek/x ann@quay.io Marek", "home-user", "emails")

    assert f"/home/user-{KEY.tag('marek')}/x [REDACTED:email:{KEY.tag('ann@quay.io')}] user-{KEY.tag('marek')}" == once
    assert once == redacted(once, "home-user", "emails")


def test_nothing_personal_goes_unless_asked() -> None:
    text = "/home/marek/x ann@quay.io 81.2.69.142 +49 30 1234567 ann@birch-box:~$ ls"

    assert text == redacted(text)


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    """No pattern of a pack begins with what may repeat: each of these took for ever in one tool or another."""
    for unit in ("@", "a@", "a.", "+1 ", "1.", "1:", "§h/", "~a", "ssh ", "a-", "[a@", "2001:"):
        text = unit * (60_000 // len(unit))
        for pack in packs(PACKS):
            pack.learn(text)
            assert isinstance(pack.find(text), list)

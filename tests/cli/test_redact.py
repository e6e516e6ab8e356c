"""`redact`: files lose their secrets and nothing else, and nothing half-done is under a final name."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from redacting import token

KEY = Path("key")
PASSWORD = "Tr0ub4dor-3xyz"


@pytest.fixture(autouse=True)
def _key(_elsewhere: None) -> None:
    KEY.write_bytes(b"k" * 32)


def write(name: str, data: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if path.suffix == ".zst" else data


def leaks(*paths: Path | str) -> list[str]:
    """Return the files that hold a part of the secrets, whatever they are packed in."""
    found = []
    for given in map(Path, paths):
        for path in given.rglob("*") if given.is_dir() else [given]:
            if path.is_file():
                data = unpacked(path)
                found += [str(path) for secret in (token(), PASSWORD) if secret.encode()[4:] in data or secret in str(path)]
    return found


# ------------------------------------------------------------------------------------------------------------ what stays


def test_lines_stay_lines_and_what_holds_no_secret_keeps_every_byte(satchel: Callable[..., Any]) -> None:
    clean = b'{ "a" : 1,\t"b": "caf\\u00e9 \\/" }\r\n\nplain \xff\xfe bytes\r\n{"torn": \n  \n'
    data = clean + json.dumps({"content": f"x {token()}", "password": PASSWORD}).encode() + b"\nno end"
    write("in.jsonl", data)
    done = satchel("redact", "in.jsonl", "-o", "out.jsonl")

    written = Path("out.jsonl").read_bytes()
    assert 0 == done.status
    assert written.startswith(clean)
    assert written.endswith(b"\nno end")
    assert data.count(b"\n") == written.count(b"\n")
    assert [] == leaks("out.jsonl")
    assert ["content", "password"] == list(json.loads(written.splitlines()[-2]))
    assert "2 secrets of 2 kinds removed in 1 file: github-token 1, password 1" in done.err
    assert "redacting is not rotating" in done.err


def test_a_document_keeps_its_layout(satchel: Callable[..., Any]) -> None:
    text = json.dumps({"list": [1, 2.50, {"deep": f"é {token()}"}], "n": 10**25}, indent=3, ensure_ascii=False) + "\n"
    write("in.json", text)
    satchel("redact", "in.json", "-o", "out.json")

    assert [] == leaks("out.json")
    before, after = text.splitlines(), Path("out.json").read_text().splitlines()
    assert [line for line in before if "deep" not in line] == [line for line in after if "deep" not in line]


def test_redacting_twice_changes_nothing(satchel: Callable[..., Any]) -> None:
    write("in.txt", f"password={PASSWORD}\ntoken {token()}\n")
    satchel("redact", "in.txt", "-o", "one.txt", "--tag-key-file", KEY)
    done = satchel("redact", "one.txt", "-o", "two.txt", "--tag-key-file", KEY)

    assert Path("one.txt").read_bytes() == Path("two.txt").read_bytes()
    assert "no secret removed" in done.err


def test_what_one_line_tells_goes_from_every_line(satchel: Callable[..., Any]) -> None:
    """A file is gone over twice: the first mention may come long before the one that tells what it is."""
    value = "Quay7Lantern-4471-Bx"
    write("in.txt", f"{value} is what I use\n" + "x\n" * 200_000 + f"password: {value}\n")
    satchel("redact", "in.txt", "-o", "out.txt")

    assert value not in Path("out.txt").read_text()


def test_a_secret_across_the_borders_of_windows_goes(satchel: Callable[..., Any]) -> None:
    for shift in (0, 7, 20, 39):
        filler = "harbour tide " * 21_000
        write("in.txt", filler[: (1 << 18) + (1 << 14) - shift] + f" {token()} " + "wharf " * 60_000)
        satchel("redact", "in.txt", "-o", "out.txt", "--force")

        assert [] == leaks("out.txt")
        assert 1 == Path("out.txt").read_text().count("[REDACTED:")


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_packed_files_are_read_and_written_as_they_were(satchel: Callable[..., Any], packing: str) -> None:
    pack = gzip.compress if packing == "gz" else zstandard.compress
    write(f"in.jsonl.{packing}", pack(json.dumps({"a": token()}).encode() + b"\n"))
    for name in ("one", "two"):
        assert 0 == satchel("redact", f"in.jsonl.{packing}", "-o", f"{name}.{packing}").status

    assert [] == leaks(f"one.{packing}")
    assert Path(f"one.{packing}").read_bytes() == Path(f"two.{packing}").read_bytes()


def test_a_packed_file_that_is_cut_off_is_an_error_and_writes_nothing(satchel: Callable[..., Any]) -> None:
    write("in.gz", gzip.compress(b"harbour " * 50_000)[:-20])
    done = satchel("redact", "in.gz", "-o", "out.gz")

    assert 1 == done.status
    assert "cut off" in done.err
    assert not Path("out.gz").exists()


def test_text_in_utf_16_is_text(satchel: Callable[..., Any]) -> None:
    write("in.txt", f"﻿password={PASSWORD}\n".encode("utf-16-le"))
    assert 0 == satchel("redact", "in.txt", "-o", "out.txt").status

    assert PASSWORD not in Path("out.txt").read_text("utf-16")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_what_is_written_is_searched_once_more_in_any_encoding(
    satchel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    """What was written in UTF-16 was not searched, once."""
    write("in.txt", f"\ufeffa {token()}\n".encode(encoding))
    monkeypatch.setattr("satchel.redacting._clean", lambda *given: iter([(f"a {token()}\n", True)]))
    done = satchel("redact", "in.txt", "-o", "out.txt")

    assert 1 == done.status
    assert "still in what was to be written" in done.err
    assert not Path("out.txt").exists()


# -------------------------------------------------------------------------------------------------------- where it goes


def test_standard_input_to_standard_output(process: Callable[..., Any]) -> None:
    done = process("redact", "-", stdin=f"a {token()}\n".encode())

    assert (0, b"a [REDACTED:github-token:") == (done.status, done.out[:25])
    assert 1 == done.out.count(b"\n")


@pytest.mark.parametrize("command", ["redact", "scan"])
def test_a_run_that_is_killed_leaves_nothing_of_standard_input_behind(command: str, tmp_path: Path) -> None:
    """It was kept in a file with a name, which stayed in the temporary folder, secrets and all, after SIGKILL."""
    spool = tmp_path / "spool"
    spool.mkdir()
    words = [sys.executable, "-m", "satchel", command, "-"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(spool)}
    ) as run:
        assert run.stdin is not None
        # More than a pipe holds, so that most of it was read.
        run.stdin.write(f"a {token()}\n".encode() * 100_000)
        run.stdin.flush()
        run.kill()
        run.stdin.close()

    assert [] == list(spool.iterdir())


def test_a_folder_keeps_its_layout(satchel: Callable[..., Any]) -> None:
    write("in/a.jsonl", json.dumps({"a": token()}) + "\n")
    write(f"in/b/{token()}.txt", "x\n")
    write("in/b/c/plain.txt", "harbour\n")
    write("in/b/state.db", b"SQLite format 3\0" + token().encode())
    os.symlink("a.jsonl", "in/link.jsonl")
    done = satchel("redact", "in", "-o", "out")

    names = sorted(str(path.relative_to("out")) for path in Path("out").rglob("*") if path.is_file())
    assert 0 == done.status
    assert ["a.jsonl", "b/c/plain.txt"] == [name for name in names if "REDACTED" not in name]
    assert 1 == sum(name.startswith("b/REDACTED-github-token-") for name in names)
    assert [] == leaks("out")
    assert token() not in done.err
    assert "link.jsonl: left out: a symbolic link" in done.err
    assert "state.db: left out: it is no text" in done.err
    assert "2 files left out" in done.err


def test_a_file_of_a_folder_that_can_not_be_read_costs_itself(satchel: Callable[..., Any]) -> None:
    write("in/a.gz", gzip.compress(b"harbour " * 50_000)[:-20])
    write("in/b.txt", f"x {token()}\n")
    done = satchel("redact", "in", "-o", "out")
    only = satchel("scan", "in/", "--allow", write("allow.txt", token()))

    assert (3, 3) == (done.status, only.status)
    assert "lost: a.gz: left out: a.gz can't be unpacked" in done.err
    assert ["b.txt"] == os.listdir("out")


def test_binary_files_are_copied_when_asked(satchel: Callable[..., Any]) -> None:
    write("in/a.bin", b"\0\1\2\xff")
    satchel("redact", "in", "-o", "out", "--copy-binary")

    assert b"\0\1\2\xff" == Path("out/a.bin").read_bytes()


def test_a_file_that_is_no_text_is_an_error_and_not_a_silence(satchel: Callable[..., Any]) -> None:
    write("state.db", b"SQLite format 3\0" + token().encode())

    for words in (["redact", "state.db", "-o", "out"], ["scan", "state.db"]):
        done = satchel(*words)
        assert 1 == done.status
        assert "no text" in done.err
    assert not Path("out").exists()


def test_in_place_keeps_the_mode_and_leaves_clean_files_alone(satchel: Callable[..., Any]) -> None:
    dirty, clean = write("in/a.txt", f"x {token()}\n"), write("in/b.txt", "harbour\n")
    dirty.chmod(0o640)
    before = clean.stat()
    done = satchel("redact", "in", "--in-place")

    assert 0 == done.status
    assert [] == leaks("in")
    assert 0o640 == stat.S_IMODE(dirty.stat().st_mode)
    assert (before.st_ino, before.st_mtime_ns) == (clean.stat().st_ino, clean.stat().st_mtime_ns)
    assert ["a.txt", "b.txt"] == sorted(os.listdir("in"))


def test_an_existing_file_is_not_overwritten_without_force(satchel: Callable[..., Any]) -> None:
    write("in.txt", "harbour\n")
    write("out.txt", "mine")

    assert 1 == satchel("redact", "in.txt", "-o", "out.txt").status
    assert "mine" == Path("out.txt").read_text()
    assert 0 == satchel("redact", "in.txt", "-o", "out.txt", "--force").status


def test_a_log_of_an_agent_is_not_redacted_in_place(satchel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent whose own history holds placeholders writes them into files and credentials."""
    home = Path("claude").absolute()
    line = {"type": "user", "sessionId": "550e8400-e29b-41d4-a716-446655440000", "uuid": "550e8400-e29b-41d4-a716-446655440001",
            "timestamp": "2026-03-02T08:30:00Z", "message": {"role": "user", "content": token()}}  # fmt: skip
    log = write("claude/projects/-x/550e8400-e29b-41d4-a716-446655440000.jsonl", json.dumps(line) + "\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))

    for path in (log, home):
        done = satchel("redact", path, "--in-place")
        assert 2 == done.status
        assert "session store" in done.err
    assert token() in log.read_text()
    assert 0 == satchel("redact", log, "-o", "out.jsonl").status


@pytest.mark.parametrize(
    "words",
    [
        ["in.txt", "-o", "x", "--in-place"],
        ["-", "--in-place"],
        ["in"],
        ["in.txt", "--json"],
        ["in.txt", "-o", "x", "--skeleton", "--rules", "r.toml"],
        ["in.txt", "-o", "x", "--skeleton", "--also", "emails"],
        ["in.txt", "-o", "x", "--skeleton", "--explain"],
        ["in.txt", "-o", "x", "--tag-key-file", "key", "--fresh-tags"],
        ["in.txt", "-o", "x", "--tag-key-file", "no"],
        ["in.txt", "-o", "x", "--also", "faxes"],
        ["in.txt", "-o", "x", "--no-rule", "no-such"],
        ["in.txt", "-o", "x", "--secrets-from", "no"],
        ["in.txt", "-o", "x", "--redact-config", "no"],
        ["in.txt", "-o", "x", "--verify-with", "nobody"],
        ["in.txt", "-o", "x", "--report", "-"],
        ["in", "-o", "in/out"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_a_usage_error(satchel: Callable[..., Any], words: list[str]) -> None:
    write("in.txt", "harbour\n")
    write("in/a.txt", "harbour\n")
    write("r.toml", "")

    assert 2 == satchel("redact", *words).status
    assert ["a.txt"] == os.listdir("in")
    assert not Path("x").exists()


# ------------------------------------------------------------------------------------------------------------- failing


def test_a_rule_that_fails_leaves_nothing_under_a_final_name(
    satchel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel.redaction.engine import Engine

    def find(self: Engine, text: str, **options: Any) -> Any:
        raise ValueError(text)

    monkeypatch.setattr(Engine, "find", find)
    write("in.txt", f"x {token()}\n")
    done = satchel("redact", "in.txt", "-o", "out.txt")

    assert 1 == done.status
    assert token() not in done.err
    assert not Path("out.txt").exists()
    assert [] == [path for path in os.listdir() if "tmp" in path]


def test_a_file_that_changes_meanwhile_is_not_written(satchel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from satchel import redacting

    path = write("in.txt", "harbour\n")
    learned = redacting._learned

    def change(*words: Any) -> None:
        learned(*words)
        path.write_text("another harbour\n")

    monkeypatch.setattr(redacting, "_learned", change)
    done = satchel("redact", "in.txt", "-o", "out.txt")

    assert 1 == done.status
    assert "changed while it was read" in done.err
    assert not Path("out.txt").exists()


# ------------------------------------------------------------------------------------------------------------- telling


def test_explain_says_where_and_why_and_no_value(satchel: Callable[..., Any]) -> None:
    write("in.txt", f"harbour\n  key: {token()}\n")
    done = satchel("redact", "in.txt", "-o", "out.txt", "--explain")

    (line,) = done.out.splitlines()
    assert line.startswith("in.txt:2:8: github-token (strong, 32-63 characters) [REDACTED:github-token:")
    assert "found by" in line
    assert "'ghp_'" in line
    assert token()[4:10] not in done.out + done.err


def test_json_tells_the_numbers(satchel: Callable[..., Any]) -> None:
    write("in.txt", f"x {token()}\n")
    said = json.loads(satchel("redact", "in.txt", "-o", "out.txt", "--json").out)

    assert (1, 1, 1, {"github-token": 1}) == (said["files"], said["changed"], said["replaced"], said["by_rule"])


def test_the_report_names_the_file_and_no_folder_above_it(satchel: Callable[..., Any]) -> None:
    path = write("in.txt", f"x {token()}\n").absolute()
    satchel("redact", path, "-o", "out.txt", "--report", "report.json")

    report = json.loads(Path("report.json").read_text())
    assert [("in.txt", 1)] == [(one["session"], one["replaced"]) for one in report["by_session"]]
    assert "passed" == report["gate"]
    assert str(path.parent) not in Path("report.json").read_text()
    assert 0o600 == stat.S_IMODE(os.stat("report.json").st_mode)


def test_tags_are_the_same_for_one_key_and_others_when_fresh(satchel: Callable[..., Any]) -> None:
    write("in.txt", f"x {token()}\n")
    outs = []
    for words in ([], [], ["--tag-key-file", "key"], ["--fresh-tags"], ["--fresh-tags"]):
        satchel("redact", "in.txt", "-o", "out.txt", "--force", *words)
        outs.append(Path("out.txt").read_text())

    assert outs[0] == outs[1]
    assert 4 == len(set(outs))


def test_personal_data_goes_when_asked(satchel: Callable[..., Any]) -> None:
    write("in.txt", "cd /home/marek/x; marek <k.wren@quay.io> 81.2.69.142\n")
    done = satchel("redact", "in.txt", "-o", "out.txt", "--also", "home-user", "--also", "emails,ips", "--tag-key-file", KEY)

    text = Path("out.txt").read_text()
    assert not [word for word in ("marek", "quay", "81.2") if word in text]
    assert text.startswith("cd /home/user-")
    assert "personal data removed: email 1, home-user 1, ip 1" in done.err


def test_a_skeleton_of_files(satchel: Callable[..., Any]) -> None:
    write("in.jsonl", '{"type": "user", "message": {"role": "user", "content": "the tide"}}\nnot json\n')
    done = satchel("redact", "in.jsonl", "-o", "out.jsonl", "--skeleton")

    shape = '{"type":"user","message":{"role":"user","content":"[text:8]"}}'
    assert [shape, "[text:8]"] == Path("out.jsonl").read_text().splitlines()
    assert "without any text" in done.err


def test_media_gives_way_when_asked(satchel: Callable[..., Any]) -> None:
    import base64
    import zlib

    def part(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    parts = ((b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"), (b"IDAT", zlib.compress(b"\0" * 400)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(part(kind, data) for kind, data in parts)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode()}
    write("in.jsonl", json.dumps({"content": [{"type": "image", "source": source}]}) + "\n")
    satchel("redact", "in.jsonl", "-o", "kept.jsonl")
    satchel("redact", "in.jsonl", "-o", "out.jsonl", "--drop-media")

    assert Path("in.jsonl").read_bytes() == Path("kept.jsonl").read_bytes()
    assert f"image/png, {len(png)} bytes" in json.loads(Path("out.jsonl").read_text())["content"][0]["source"]["data"]

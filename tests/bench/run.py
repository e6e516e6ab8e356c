"""
Measures speed and memory, in pairs: ours and another program in turn on the same input, and the ratio pair by pair.

    make bench
    python tests/bench/run.py --jobs jsonl,verify --sessions 200 --mb 20 --pairs 3       a quick look
    python tests/bench/run.py --db small/state.db --db large/state.db --hermes HERMES    stores that are there

What is measured is the project as it stands, installed from a wheel into build/bench/venv. One line of JSON is added to
docs/benchmarks/<year>-<month>.jsonl; docs/benchmarks/README.md says how to read it. Needs Linux, and a network to install.
It is no test: no figure of one run is right or wrong.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "bench"
RESULTS = ROOT / "docs" / "benchmarks"

SLOW = 20.0
"""CPU seconds of the other program from which on two pairs are enough."""
NOISY = 1.6
"""Largest over smallest CPU of the other program from which on the machine was too busy to measure."""
SAMPLE = 0.02
"""Seconds between two looks at a program's memory."""


class Store(NamedTuple):
    """An input: where it is, and what is in it."""

    path: Path
    name: str
    facts: dict[str, Any]


class Run(NamedTuple):
    """What one run of a program took: seconds, megabytes of 1,000,000 bytes, its exit code."""

    cpu: float
    wall: float
    anonymous: float
    resident: float
    code: int


class Bench:
    """The programs, the inputs and the places of a run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.pairs: int = given.pairs
        self.message_mb: float = given.message_mb
        self.python = Path(given.python).absolute() if given.python else _installed()
        self.satchel = self.python.with_name("satchel")
        self.hermes = _hermes(given.hermes)
        self.out = BUILD / "out"
        self.out.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "HOME": str(BUILD / "home"),
            "HERMES_HOME": str(BUILD / "hermes"),
            "LANG": "C.UTF-8",
            "PATH": os.environ.get("PATH", os.defpath),
            "TMPDIR": str(BUILD / "tmp"),
        }
        for name in ("home", "hermes", "tmp"):
            (BUILD / name).mkdir(parents=True, exist_ok=True)
        self._given = given
        self.stores: list[Store] = []

    # -- inputs

    def store(self, number: int) -> Store:
        """Return the first or the second, larger store; it is made when it is first asked for."""
        given = self._given
        while len(self.stores) <= number:
            at = len(self.stores)
            if given.db:
                path = Path(given.db[min(at, len(given.db) - 1)]).resolve()
                self.stores.append(Store(path, f"given {at + 1}", {}))
            else:
                factor = given.larger**at
                arguments = [
                    "--sessions",
                    str(given.sessions * factor),
                    "--mb",
                    f"{given.mb * factor:g}",
                    "--seed",
                    str(given.seed),
                ]
                self.stores.append(made(["search", *arguments] if given.search else arguments))
            store = self.stores[at]
            store.facts.update(_look(store.path))
            print(f"{store.name}: " + ", ".join(f"{name} {value:,}" for name, value in store.facts.items()))
        return self.stores[number]

    def exported(self, store: Store) -> Path:
        """Export a store and return the file."""
        path = self.out / f"{store.name.replace(' ', '-')}.jsonl"
        run = self.run(self.export(store, path))
        if run.code:
            sys.exit(f"the export of {store.name} ended with status {run.code}")
        return path

    def logs(self) -> list[tuple[str, str]]:
        """Return the trees of logs to read, with the names of their readers; one is made where none is given."""
        given = self._given
        if given.logs:
            return [(reader, str(Path(path).resolve())) for reader, _, path in (each.partition("=") for each in given.logs)]
        path = BUILD / "logs" / f"{_edition('logs.py')}-mb-{given.mb:g}-seed-{given.seed}"
        if not path.exists():
            part = path.with_name("part")
            shutil.rmtree(part, ignore_errors=True)
            arguments = ["make", str(part), "--mb", f"{given.mb:g}", "--seed", str(given.seed)]
            subprocess.run([sys.executable, str(HERE / "logs.py"), *arguments], check=True, stdout=subprocess.DEVNULL)
            part.rename(path)
        return [("claude", str(path))]

    # -- commands

    def export(self, store: Store, path: Path) -> list[str]:
        return [str(self.satchel), "export", str(path), "--from", str(store.path), "--force", "--quiet"]

    def floor(self, store: Store, path: Path) -> list[str]:
        return [str(self.python), str(HERE / "floor.py"), str(store.path), str(path)]

    # -- measuring

    def run(self, command: Sequence[str]) -> Run:
        """Run a program to its end."""
        begun = time.perf_counter()
        with open(BUILD / "said.txt", "wb") as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=self.environment, cwd=BUILD
            )
        done = threading.Event()
        peak = [0]
        watch = threading.Thread(target=_watch, args=(process.pid, peak, done), daemon=True)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        watch.join()
        cpu = usage.ru_utime + usage.ru_stime
        return Run(
            round(cpu, 4), round(wall, 4), round(peak[0] / 1e6, 1), round(usage.ru_maxrss * 1024 / 1e6, 1), process.returncode
        )

    def compare(
        self, job: str, ours: Sequence[str], other: Sequence[str], *, names: tuple[str, str], pairs: int = 0
    ) -> dict[str, Any]:
        """Run two programs in turn, once to warm up and then in pairs that count, and return and print all figures."""
        self.run(ours)
        slow = self.run(other).cpu > SLOW
        count = min(2, pairs or self.pairs) if slow else pairs or self.pairs
        runs = [(self.run(ours), self.run(other)) for _ in range(count)]
        codes = [sorted({pair[side].code for pair in runs}) for side in (0, 1)]
        good = [pair for pair in runs if pair[0].code == pair[1].code == 0]
        out: dict[str, Any] = {"job": job, "ours": names[0], "other": names[1], "pairs": len(good), "codes": codes}
        print(f"\n{job}: {names[0]} / {names[1]}, {len(good)} pairs, exit codes {codes[0]} {codes[1]}")
        if not good:
            print(f"  no pair to count; the last one said: {(BUILD / 'said.txt').read_text('utf-8', 'replace')[-300:]}")
            return out
        for field in ("cpu", "wall", "anonymous", "resident"):
            mine, theirs = ([getattr(pair[side], field) for pair in good] for side in (0, 1))
            figures = {"ours": _spread(mine), "other": _spread(theirs)}
            if all(theirs):
                figures["ratio"] = _spread([a / b for a, b in zip(mine, theirs, strict=True)])
            out[field] = figures
            unit = "s " if field in ("cpu", "wall") else "MB"
            print(f"  {field:9} {unit} " + "   ".join(f"{k} {v[0]:.3f} {v[1]:.3f} {v[2]:.3f}" for k, v in figures.items()))
        cpu = [pair[1].cpu for pair in good]
        if min(cpu) > 0 and max(cpu) / min(cpu) > NOISY:
            out["noisy"] = True
            print("  the machine was busy with something else: measure again")
        return out


def _watch(pid: int, peak: list[int], done: threading.Event) -> None:
    """Keep the most anonymous memory, in bytes, that a process was seen with."""
    while not done.is_set():
        try:
            with open(f"/proc/{pid}/status", "rb") as file:
                found = file.read().partition(b"RssAnon:")[2].split(maxsplit=1)
        except OSError:
            return
        if found:
            peak[0] = max(peak[0], int(found[0]) * 1024)
        done.wait(SAMPLE)


def _spread(values: Sequence[float]) -> list[float]:
    """Return the smallest, the median, the largest."""
    return [round(value, 4) for value in (min(values), statistics.median(values), max(values))]


# ---------------------------------------------------------------------------------------------------------- the jobs


def jsonl(bench: Bench) -> Iterator[dict[str, Any]]:
    """Export, against the plain loop and against Hermes' own export."""
    store, mine, other = bench.store(0), bench.out / "ours.jsonl", bench.out / "other.jsonl"
    yield bench.compare("jsonl", bench.export(store, mine), bench.floor(store, other), names=("satchel export", "plain loop"))
    if bench.hermes is None:
        print("\njsonl: no hermes command here; --hermes names one")
        return
    # Hermes opens a store for writing: it gets a copy.
    home = BUILD / "hermes"
    _copy(store.path, home / "state.db")
    theirs = [str(bench.hermes), "sessions", "export", str(other)]
    yield bench.compare("jsonl", bench.export(store, mine), theirs, names=("satchel export", "hermes sessions export"))
    (home / "state.db").unlink()


def redact(bench: Bench) -> Iterator[dict[str, Any]]:
    """Export without secrets, against the same export with them, and against Hermes' own redacted export."""
    store, mine, other = bench.store(0), bench.out / "ours.jsonl", bench.out / "other.jsonl"
    ours = [*bench.export(store, mine), "--redact"]
    yield bench.compare("redact", ours, bench.export(store, other), names=("satchel export --redact", "satchel export"))
    if bench.hermes is None:
        return
    home = BUILD / "hermes"
    _copy(store.path, home / "state.db")
    theirs = [str(bench.hermes), "sessions", "export", str(other), "--redact"]
    yield bench.compare("redact", ours, theirs, names=("satchel export --redact", "hermes sessions export --redact"))
    (home / "state.db").unlink()


def _to_read(bench: Bench, format: str, output: str) -> Iterator[dict[str, Any]]:
    """Export for people to read, against Hermes' own export in that format."""
    if bench.hermes is None:
        print(f"\n{format}: no hermes command here; --hermes names one")
        return
    store, home = bench.store(0), BUILD / "hermes"
    _copy(store.path, home / "state.db")
    mine, other = bench.out / f"ours-{output}", bench.out / f"other-{output}"
    every = ["--format", format, "--after", "2000-01-01"]
    theirs = [str(bench.hermes), "sessions", "export", *every, *(["--force"] if format == "md" else []), str(other)]
    ours = [*bench.export(store, mine), *every, "--include-live"]
    yield bench.compare(
        format, ours, theirs, names=(f"satchel export --format {format}", f"hermes sessions export --format {format}")
    )
    (home / "state.db").unlink()


def html(bench: Bench) -> Iterator[dict[str, Any]]:
    """One page, with Markdown rendered and sessions compressed, against Hermes' page, which does neither."""
    yield from _to_read(bench, "html", "page.html")


def md(bench: Bench) -> Iterator[dict[str, Any]]:
    """A Markdown document a session."""
    yield from _to_read(bench, "md", "documents")


_HOSTILE = {
    "hex": "x=" + "0f3a9c7e5b1d8246" * 65536,
    "base64": "Zm9vYmFyYmF6cXV4_-Ab" * 52428,
    "dots": "a.b.c." * 174762,
    "equals": "=" * (1 << 20),
    "quotes": "\"'" * (1 << 19),
    "prefixes": "sk-" * 349525,
    "names": "password:" * 116508,
    "schemes": "://" * 349525,
    "colours": "\x1b[0m" * 262144,
}
"""Texts of a megabyte on one line, made to be slow to search."""


def hostile(bench: Bench) -> Iterator[dict[str, Any]]:
    """Redact a megabyte of text that is hard to search, against two of it: the time may double, and no more."""
    for name, text in _HOSTILE.items():
        paths = [BUILD / f"hostile-{size}.txt" for size in (1, 2)]
        for size, path in enumerate(paths, 1):
            path.write_text(text * size, encoding="utf-8")
        commands = [
            [str(bench.satchel), "redact", str(path), "-o", str(bench.out / path.name), "--force", "--quiet"] for path in paths
        ]
        yield bench.compare(f"hostile {name}", commands[1], commands[0], names=("two megabytes", "one"), pairs=3)


def verify(bench: Bench) -> Iterator[dict[str, Any]]:
    """Compare an export with its manifest, against one pass of a hashing program over it."""
    yield from _verify(bench, "verify", [])


def content(bench: Bench) -> Iterator[dict[str, Any]]:
    """The same, with what the file says."""
    yield from _verify(bench, "content", ["--content"])


def _verify(bench: Bench, job: str, options: list[str]) -> Iterator[dict[str, Any]]:
    openssl = shutil.which("openssl")
    if openssl is None:
        print(f"\n{job}: there is no openssl here")
        return
    path = bench.exported(bench.store(0))
    ours = [str(bench.satchel), "verify", str(path), *options, "--quiet"]
    names = (" ".join(["satchel verify", *options]), "openssl dgst -sha256")
    yield bench.compare(job, ours, [openssl, "dgst", "-sha256", str(path)], names=names)


def logs(bench: Bench) -> Iterator[dict[str, Any]]:
    """Read logs to entries, against a plain loop that makes JSON of their lines. Both read all of them three times."""
    for reader, path in bench.logs():
        ours, other = ([str(bench.python), str(HERE / "logs.py"), *what] for what in (["entries", reader, path], ["lines", path]))
        yield bench.compare("logs", ours, other, names=(f"entries of {reader}", "orjson.loads of each line"))


def help_(bench: Bench) -> Iterator[dict[str, Any]]:
    """Start-up."""
    ours, other = [str(bench.satchel), "--help"], [str(bench.python), "-c", "pass"]
    yield bench.compare("help", ours, other, names=("satchel --help", "python -c pass"), pairs=max(11, bench.pairs))


def sizes(bench: Bench) -> Iterator[dict[str, Any]]:
    """Export a small and a large store: neither memory nor CPU a megabyte may grow with the store."""
    small, large = bench.store(0), bench.store(1)
    if small.path == large.path:
        print("\nsizes: give a second, larger store with another --db")
        return
    paths = bench.out / "small.jsonl", bench.out / "large.jsonl"
    names = f"satchel export of {large.name}", f"satchel export of {small.name}"
    found = bench.compare("sizes", bench.export(large, paths[1]), bench.export(small, paths[0]), names=names)
    megabytes = [path.stat().st_size / 1e6 for path in paths]
    found["output_mb"] = [round(size, 1) for size in megabytes]
    if "cpu" in found:
        growth = megabytes[1] / megabytes[0]
        found["cpu_per_mb_ratio"] = [round(ratio / growth, 4) for ratio in found["cpu"]["ratio"]]
        ratios = " ".join(f"{ratio:.3f}" for ratio in found["cpu_per_mb_ratio"])
        print(f"  cpu a MB  s  {megabytes[1]:.1f} and {megabytes[0]:.1f} MB written   ratio {ratios}")
    yield found


def big(bench: Bench) -> Iterator[dict[str, Any]]:
    """One very large message, exported and read back, in ASCII and with emoji: memory is bounded by it."""
    for kind in ("ascii", "emoji"):
        store = made(["--message-mb", f"{bench.message_mb:g}", *(["--emoji"] if kind == "emoji" else [])])
        path = bench.out / "big.jsonl"
        runs = {"export": bench.run(bench.export(store, path)), "floor": bench.run(bench.floor(store, bench.out / "other.jsonl"))}
        bench.run(bench.export(store, path))
        for name, options in (("verify", []), ("content", ["--content"])):
            runs[name] = bench.run([str(bench.satchel), "verify", str(path), *options, "--quiet"])
        print(f"\nbig: one message of {bench.message_mb:g} MB, {kind}")
        for name, run in runs.items():
            print(f"  {name:8} " + "  ".join(f"{field} {value}" for field, value in run._asdict().items()))
        yield {
            "job": "big",
            "kind": kind,
            "message_mb": bench.message_mb,
            "runs": {name: run._asdict() for name, run in runs.items()},
        }


JOBS: dict[str, Callable[[Bench], Iterator[dict[str, Any]]]] = {
    "jsonl": jsonl,
    "html": html,
    "md": md,
    "redact": redact,
    "hostile": hostile,
    "verify": verify,
    "content": content,
    "logs": logs,
    "help": help_,
    "sizes": sizes,
    "big": big,
}


# ---------------------------------------------------------------------------------------------------------- what it needs


def made(arguments: list[str]) -> Store:
    """Make a store, or take the one that was made with these arguments before."""
    name = "-".join([_edition("store.py"), *(word.lstrip("-") for word in arguments)])
    path = BUILD / "stores" / name / "state.db"
    if not path.exists():
        print(f"making a store: {' '.join(arguments)}", flush=True)
        part = path.with_name("part.db")
        options = ["--search", *arguments[1:]] if arguments[0] == "search" else arguments
        subprocess.run([sys.executable, str(HERE / "store.py"), str(part), *options], check=True, stdout=subprocess.DEVNULL)
        part.rename(path)
    return Store(path, " ".join(arguments).replace("--", ""), {})


def _edition(script: str) -> str:
    """Return what goes up when a script makes other inputs of the same arguments."""
    return next(line for line in (HERE / script).read_text("utf-8").splitlines() if line.startswith("EDITION")).split()[-1]


def _look(path: Path) -> dict[str, Any]:
    """Return what is in a store: sessions, messages, bytes of their text, of the longest message's text, of the file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(messages)") if row[2] == "TEXT"]
        size = " + ".join(f"coalesce(length(CAST({name} AS BLOB)), 0)" for name in names)
        messages, text, longest = db.execute(
            f"SELECT count(*), sum(s), max(s) FROM (SELECT {size} AS s FROM messages)"
        ).fetchone()
        (sessions,) = db.execute("SELECT count(*) FROM sessions").fetchone()
    return {"sessions": sessions, "messages": messages, "text": text, "longest": longest, "bytes": path.stat().st_size}


def _copy(source: Path, copy: Path) -> None:
    for side in ("-wal", "-shm"):
        Path(f"{copy}{side}").unlink(missing_ok=True)
    shutil.copyfile(source, copy)


def _installed() -> Path:
    """Install the project into an environment of its own, from a wheel, and return its Python."""
    python, source = BUILD / "venv" / "bin" / "python", BUILD / "source"
    # Python that may not keep compiled files would compile the project at each start.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if not python.exists():
        venv.create(BUILD / "venv", with_pip=True)
    shutil.rmtree(source, ignore_errors=True)
    for folder in ("converters", "formats", "manifest", "redaction"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    print("installing the project", flush=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for options in (["-c", str(ROOT / "constraints.txt")], ["--no-deps", "--force-reinstall"]):
        subprocess.run([*install, *options, str(source)], check=True, env=clean)
    subprocess.run([str(python), "-m", "compileall", "-q", str(BUILD / "venv" / "lib")], check=False, env=clean)
    return python


def _hermes(given: str | None) -> Path | None:
    """Return the hermes command, if there is one that runs."""
    peer = os.environ.get("SATCHEL_PEER_HERMES")
    path = Path(given) if given else Path(peer).with_name("hermes") if peer else None
    if path is None or not path.exists():
        if given:
            sys.exit(f"{given} does not exist")
        return None
    tried = subprocess.run([str(path), "sessions", "export", "--help"], capture_output=True, check=False)
    if tried.returncode and given:
        sys.exit(f"{given} does not run: {tried.stderr.decode('utf-8', 'replace')[-300:]}")
    return path.absolute() if tried.returncode == 0 else None


_VERSIONS = """
import json, platform
from importlib.metadata import version
import apsw
names = ("satchel", "apsw", "click", "orjson")
print(json.dumps({"python": platform.python_version(), "sqlite": apsw.sqlite_lib_version()} | {n: version(n) for n in names}))
"""


def _versions(bench: Bench) -> dict[str, str]:
    told = subprocess.run([str(bench.python), "-c", _VERSIONS], capture_output=True, check=True, cwd=BUILD)
    versions: dict[str, str] = json.loads(told.stdout)
    if bench.hermes is not None:
        said = subprocess.run([str(bench.hermes), "--version"], capture_output=True, check=False, env=bench.environment)
        versions["hermes"] = said.stdout.decode("utf-8", "replace").partition("\n")[0]
    return versions


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure speed and memory, in pairs.")
    usual = [name for name in JOBS if name != "big"]
    parser.add_argument("--jobs", default=",".join(usual), help=f"some of {','.join(JOBS)}; all but big by default")
    parser.add_argument("--pairs", type=int, default=5, help="pairs that count, after one to warm up (default 5)")
    parser.add_argument("--sessions", type=int, default=1000, help="of the store that is made (default 1000)")
    parser.add_argument("--mb", type=float, default=100, help="of text in it (default 100)")
    parser.add_argument("--larger", type=int, default=4, help="how many times larger the second store is (default 4)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--search", action="store_true", help="fill the search tables of the stores that are made")
    parser.add_argument("--message-mb", type=float, default=200, help="size of the message of the job big (default 200)")
    parser.add_argument("--db", action="append", help="a store to read instead; a second one is the larger of the job sizes")
    parser.add_argument("--logs", action="append", metavar="READER=PATH", help="logs to read in the job logs, as claude=~/copy")
    parser.add_argument("--hermes", help="the hermes command to compare with (default: beside the Python in SATCHEL_PEER_HERMES)")
    parser.add_argument("--python", help="the Python of an environment that has satchel, to be measured as it is")
    parser.add_argument("--no-record", action="store_true", help="add no line to docs/benchmarks/")
    given = parser.parse_args()
    given.jobs = given.jobs.split(",")
    for job in given.jobs:
        if job not in JOBS:
            parser.error(f"there is no job {job}; there are: {', '.join(JOBS)}")
    if given.pairs < 1:
        parser.error("--pairs is at least 1")
    return given


def main() -> int:
    """Measure, print, and keep the figures. Return 1 when a run of ours failed."""
    given = _arguments()
    bench = Bench(given)
    found = [figures for job in given.jobs for figures in JOBS[job](bench)]
    shutil.rmtree(bench.out)
    now = datetime.datetime.now(datetime.UTC)
    line = {
        "date": f"{now:%Y-%m-%d}",
        "cpus": os.cpu_count(),
        "machine": platform.machine(),
        "versions": _versions(bench),
        "stores": [{"name": store.name, **store.facts} for store in bench.stores],
        "figures": found,
    }
    if not given.no_record:
        RESULTS.mkdir(parents=True, exist_ok=True)
        with open(RESULTS / f"{now:%Y-%m}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    failed = [figures["job"] for figures in found if figures.get("codes", [[0]])[0] != [0]]
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

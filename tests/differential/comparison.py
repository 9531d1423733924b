"""One script twice, by `python` and by `whygrad run`: what it printed, left and became must not differ.

From the command line, `python comparison.py [--twice] [name ...]` compares the named kinds; with `--twice` both runs
are plain, which shows whether a script is fit for a comparison at all.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import py_compile
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import whygrad

SCRIPTS = Path(__file__).parent / "scripts"
SCRIPT = "script.py"
AT_ONCE = 2
LONGEST = 90.0
"""Seconds for one run on a slow machine; a script that may hang says its own."""
STARTS = {"module": ["-m", "whygrad"], "command": ["../outside/whygrad"]}
"""`python -m whygrad`, and the command that pip installs."""
COMMAND = "import sys\nfrom whygrad.cli.main import main\n\nsys.exit(main())\n"
FORMS = ("file", "folder", "zip", "pyc", "stdin", "module", "package", "code")
PARTS = ("status", "stdout", "stderr", "files", "watching")
KEYS = ("args", "flags", "stdin", "env", "form", "start", "shell", "watch", "seconds", "left out")
SHOWN = 60
"""Lines of a difference that are shown."""
WIDEST = 240

_FACT = re.compile(rf"# ({'|'.join(KEYS)}): ?(.*)")
_NOTE = re.compile(rb"^whygrad\[WG\d+\] .*\n", re.MULTILINE)
_UNWRITTEN = re.compile(rb"^whygrad: \.whygrad/last\.json was not written .*\n", re.MULTILINE)
_TROUBLE = re.compile("internal error|failed|could not")


@dataclass(frozen=True)
class Kind:
    """A script and one way to start it."""

    name: str
    source: Path
    """A file that stands alone, or a folder with a `script.py`."""
    form: str = "file"
    start: str = "module"
    arguments: str = ""
    flags: tuple[str, ...] = ()
    stdin: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    shell: str = ""
    """Redirections, as in a shell."""
    watching: tuple[str, ...] = ()
    """Options of `whygrad run`."""
    seconds: float = LONGEST
    left_out: frozenset[str] = frozenset()
    """Parts that cannot be compared; the script says why."""

    @property
    def script(self) -> Path:
        return self.source / SCRIPT if self.source.is_dir() else self.source


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it left."""

    status: str
    stdout: bytes
    stderr: bytes
    files: dict[str, str]
    report: bytes = b""


def kinds(scripts: Path = SCRIPTS) -> list[Kind]:
    """Every script with every way to start it, by group and name."""
    groups = sorted(group for group in scripts.iterdir() if group.is_dir())
    sources = [source for group in groups for source in sorted(group.iterdir()) if _is_source(source)]
    return [kind for source in sources for kind in _declared(f"{source.parent.name}/{source.stem}", source)]


def _is_source(path: Path) -> bool:
    return path.suffix == ".py" or (path / SCRIPT).is_file()


def _declared(name: str, source: Path) -> Iterator[Kind]:
    """Several `args`, forms or starts are as many kinds."""
    facts: dict[str, list[str]] = {key: [] for key in KEYS}
    text = (source / SCRIPT if source.is_dir() else source).read_text(encoding="utf-8")
    for line in text.splitlines()[:24]:
        if match := _FACT.fullmatch(line):
            facts[match[1]].append(match[2])
    forms = [form for line in facts["form"] for form in line.split()] or ["file"]
    assert set(forms) <= set(FORMS), f"{name}: one of {forms} is no form; there are {FORMS}"
    starts = [start for line in facts["start"] for start in line.split()] or ["module"]
    assert set(starts) <= set(STARTS), f"{name}: one of {starts} is no start; there are {list(STARTS)}"
    left_out = {line.split()[0].rstrip(",") for line in facts["left out"]}
    assert left_out <= set(PARTS), f"{name}: one of {left_out} is no part; there are {PARTS}"
    for form, start, arguments in product(forms, starts, facts["args"] or [""]):
        words = [word for word in (form if len(forms) > 1 else "", start if len(starts) > 1 else "", arguments) if word]
        yield Kind(
            name=f"{name}[{' '.join(words)}]" if words else name,
            source=source,
            form=form,
            start=start,
            arguments=arguments,
            flags=tuple(" ".join(facts["flags"]).split()),
            stdin="".join(f"{line}\n" for line in facts["stdin"]),
            environment=tuple((k, v) for k, _, v in (line.partition("=") for line in facts["env"])),
            shell=" ".join(facts["shell"]),
            watching=tuple(" ".join(facts["watch"]).split()),
            seconds=float(facts["seconds"][0]) if facts["seconds"] else LONGEST,
            left_out=frozenset(left_out),
        )


# -- running


def both(kind: Kind, scratch: Path, *, twice_plain: bool = False) -> tuple[Ended, Ended]:
    """The plain run and the watched one, one after the other in a folder of the same name."""
    return run(kind, scratch, watched=False), run(kind, scratch, watched=not twice_plain)


def run(kind: Kind, scratch: Path, *, watched: bool) -> Ended:
    home, outside = scratch / "home", scratch / "outside"
    for folder in (home, outside):
        shutil.rmtree(folder, ignore_errors=True)
    outside.mkdir(parents=True)
    target, stdin = _prepared(kind, home)
    report = outside / "report.json"
    command = [sys.executable, *kind.flags]
    if watched:
        (outside / "whygrad").write_text(COMMAND, encoding="utf-8")
        command += [*STARTS[kind.start], "run", "--fail-on", "never", "--format", "json", "--json", str(report)]
        command += kind.watching
    command += [*target, *kind.arguments.split()]
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -c 0; exec "$@" {kind.shell}', "sh", *command],
        cwd=home,
        env=_environment(kind, outside),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    status, out, err = _finished(process, stdin, kind.seconds)
    return Ended(status, out, err, _files(home), report.read_bytes() if report.exists() else b"")


def _finished(process: subprocess.Popen[bytes], stdin: bytes, seconds: float) -> tuple[str, bytes, bytes]:
    try:
        out, err = process.communicate(stdin, seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return f"did not end within {seconds:g} s", out, err
    code = process.returncode
    return (f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"), out, err


def _environment(kind: Kind, outside: Path) -> dict[str, str]:
    """The same for both runs. Python finds the whygrad that is tested, whichever is installed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TORCH", "WHYGRAD", "NO_COLOR"))}
    own = {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(Path(whygrad.__file__).parents[1]),
        "TERM": "dumb",
        "TMPDIR": str(outside),
    }
    return {**kept, **own, **dict(kind.environment)}


def _prepared(kind: Kind, home: Path) -> tuple[list[str], bytes]:
    """Lay out the folder; what to start, and what to type."""
    if kind.source.is_dir():
        shutil.copytree(kind.source, home)
    else:
        home.mkdir()
        shutil.copy2(kind.source, home / SCRIPT)
    script, source = home / SCRIPT, kind.script.read_text(encoding="utf-8")
    if kind.form in ("folder", "package"):
        (home / "app").mkdir()
        script.rename(home / "app" / "__main__.py")
        if kind.form == "package":
            (home / "app" / "__init__.py").touch()
    elif kind.form == "zip":
        with zipfile.ZipFile(home / "app.zip", "w") as archive:
            archive.write(script, "__main__.py")
    elif kind.form == "pyc":
        py_compile.compile(str(script), cfile=str(home / "script.pyc"), dfile=SCRIPT, doraise=True)
    if kind.form in ("zip", "pyc", "stdin", "code"):
        script.unlink()
    targets = {
        "file": [SCRIPT],
        "folder": ["app"],
        "zip": ["app.zip"],
        "pyc": ["script.pyc"],
        "stdin": ["-"],
        "module": ["-m", "script"],
        "package": ["-m", "app"],
        "code": ["-c", source],
    }
    return targets[kind.form], source.encode() if kind.form == "stdin" else kind.stdin.encode()


def _files(home: Path) -> dict[str, str]:
    """What lies in the folder, but for whygrad's own: names, modes and content."""
    found: dict[str, str] = {}
    if not home.is_dir():
        return {".": "gone"}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home)
        if name.parts[0] == ".whygrad":
            continue
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            data = path.read_bytes()
            content = f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()[:12]}, {data[:200]!r}"
        else:
            content = os.readlink(path) if stat.S_ISLNK(mode) else ""
        found[str(name)] = f"{stat.filemode(mode)} {content}".rstrip()
    return found


# -- comparing


def own_words(ended: Ended) -> bytes:
    """What the script itself wrote to stderr.

    whygrad's report is taken out as the very bytes that it also wrote to its file, once; so are the note that it adds
    to an exception and the line that says that the script left it no folder to write to. Everything else counts: an
    internal error of whygrad's is a difference, too.
    """
    if not ended.report:
        return ended.stderr
    return _UNWRITTEN.sub(b"", _NOTE.sub(b"", ended.stderr.replace(ended.report, b"", 1)))


def troubles(ended: Ended) -> list[str]:
    """What went wrong inside whygrad, by its own account: a rule that failed, watching that stopped."""
    limits = json.loads(ended.report)["limits"] if ended.report else []
    return [str(limit) for limit in limits if _TROUBLE.search(str(limit))]


def differences(kind: Kind, plain: Ended, watched: Ended) -> str:
    """A readable account of what differs; empty when nothing does."""
    parts = {
        "status": ([plain.status], [watched.status]),
        "stdout": (_lines(plain.stdout), _lines(watched.stdout)),
        "stderr": (_lines(own_words(plain)), _lines(own_words(watched))),
        "files": (_listed(plain.files), _listed(watched.files)),
        "watching": (troubles(plain), troubles(watched)),
    }
    compared = {part: parts[part] for part in PARTS if part not in kind.left_out}
    return "\n".join(_told(part, one, other) for part, (one, other) in compared.items() if one != other)


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "backslashreplace").splitlines(keepends=True)


def _listed(files: dict[str, str]) -> list[str]:
    return [f"{name}: {content}" for name, content in files.items()]


def _told(part: str, plain: list[str], watched: list[str]) -> str:
    lines = [line.rstrip("\n") for line in difflib.unified_diff(plain, watched, "plain", "watched", n=1)]
    more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return "\n".join([f"{part} differs:", *(f"    {line[:WIDEST]}" for line in [*lines[:SHOWN], *more])])


# -- from the command line


def _main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twice", action="store_true", help="run both times plain")
    parser.add_argument("-j", "--jobs", type=int, default=AT_ONCE, help="kinds at a time")
    parser.add_argument("names", nargs="*", help="kinds, or beginnings of their names")
    options = parser.parse_args(None if arguments is None else list(arguments))
    names: tuple[str, ...] = tuple(options.names) or ("",)
    chosen = [kind for kind in kinds() if kind.name.startswith(names)]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        places = [Path(scratch) / str(number) for number in range(len(chosen))]
        for kind, ended in zip(chosen, pool.map(partial(both, twice_plain=options.twice), chosen, places), strict=True):
            told = differences(kind, *ended)
            failed += bool(told)
            print(f"{kind.name}: {'differs' if told else f'same ({ended[0].status})'}\n{told}".rstrip(), flush=True)
    print(f"{failed} of {len(chosen)} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_main())

"""The other commands, usage errors, broken configuration and places that cannot be written."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_running import BROKEN, CUT, LONGEST, Ended, crashed, environment, stored, whygrad, write
from whygrad import verdicts
from whygrad.about import __version__
from whygrad.catalogue import NAMES
from whygrad.cli.main import main
from whygrad.rule import Rule, rules

Captured = pytest.CaptureFixture[str]


def own(capsys: Captured, *arguments: str) -> Ended:
    """A command that runs no script, in this process."""
    try:
        status = main(list(arguments))
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else -1
    caught = capsys.readouterr()
    return Ended(status, caught.out, caught.err)


def one_line(text: str) -> str:
    [row] = text.splitlines()
    assert row.startswith("whygrad: ")
    return row


# -- usage


def test_version_and_help(capsys: Captured) -> None:
    assert own(capsys, "--version") == Ended(0, f"whygrad {__version__}\n", "")
    top = own(capsys, "--help")
    assert top.status == 0
    for word in ("run", "probe", "report", "plot", "top", "explain", "rules", "exit status"):
        assert word in top.out
    shown = own(capsys, "run", "--help")
    assert shown.status == 0
    for option in ("--json", "--updates", "--trace", "--fail-on", "-q", "--format", "--full-traceback", "--color"):
        assert option in shown.out
    for option in ("--tensorboard DIR", "--wandb", "--log FILE", "--budget PERCENT"):
        assert option in shown.out


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("walk",),
        ("run",),
        ("run", "-q"),
        ("run", "-m"),
        ("run", "-c"),
        ("run", "--nonsense", "x.py"),
        ("run", "--updates", "0", "x.py"),
        ("run", "--updates", "many", "x.py"),
        ("run", "--updates"),
        ("run", "--trace", "sometimes", "x.py"),
        ("run", "--fail-on=note", "x.py"),
        ("run", "--format", "xml", "x.py"),
        ("run", "--color", "blue", "x.py"),
        ("report", "--nonsense"),
        ("run", "--budget", "much", "x.py"),
        ("run", "--log"),
        ("plot", "--nonsense"),
        ("top", "--nonsense"),
        ("explain",),
        ("probe",),
        ("probe", "one:make", "--script", "x.py"),
        ("probe", "one:make", "--", "more"),
        ("probe", "--steps", "0", "one:make"),
        ("probe", "--only", "WG101", "one:make"),
        ("probe", "--script", "absent.py"),
        ("probe", "--json", "absent/out.json", "one:make"),
        ("rules", "extra"),
    ],
)
def test_usage_errors_are_two_and_start_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "x.py", "raise AssertionError('started')\n")
    done = own(capsys, *arguments)
    assert done.status == 2
    assert done.out == ""
    assert "whygrad" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / ".whygrad").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [("absent.py", "no such file"), ("folder", "folder"), ("", ""), ("x.py/deeper.py", "x.py/deeper.py")],
)
def test_a_script_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, name: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    write(tmp_path, "x.py", "")
    done = own(capsys, "run", name)
    assert (done.status, done.out) == (2, "")
    assert says in one_line(done.err)


# -- configuration


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[tool.whygrad\n", "TOML"),
        (b"[tool.whygrad]\nname = '\xff'\n", "cannot be read"),
        (b"[tool.whygrad]\nfial-on = 'error'\n", "fial-on"),
        (b"[tool.whygrad]\nfail-on = 'note'\n", "fail-on"),
        (b"[tool.whygrad]\nfail-on = ['error']\n", "fail-on"),
        (b"[tool.whygrad]\ntrace = true\n", "trace"),
        (b"[tool.whygrad]\nupdates = 0\n", "updates"),
        (b"[tool.whygrad]\nupdates = '5'\n", "updates"),
        (b"[tool.whygrad]\nupdates = true\n", "updates"),
        (b"[tool.whygrad]\nignore = 'WG103'\n", "ignore"),
        (b"[tool.whygrad]\nignore = [103]\n", "ignore"),
        (b"[tool]\nwhygrad = 3\n", "table"),
        (b"[[tool.whygrad]]\nupdates = 3\n", "table"),
    ],
)
def test_a_wrong_project_file_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, text: bytes, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_bytes(text)
    write(tmp_path, "code/x.py", "raise AssertionError('started')\n")
    done = own(capsys, "run", "code/x.py")
    assert (done.status, done.out) == (2, "")
    row = one_line(done.err)
    assert "pyproject.toml" in row
    assert says in row


def test_a_project_file_whose_tool_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Not for whygrad to judge, perhaps; but never a traceback."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "pyproject.toml", "tool = 3\n")
    done = whygrad(tmp_path, "run", "-q", "-c", "print('ran')")
    assert not crashed(done.err)
    assert (done.status, done.out) in ((2, ""), (0, "ran\n"))


def test_an_unknown_code_to_ignore_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.whygrad]\nignore = ["WG999"]\n')
    done = whygrad(tmp_path, "run", "--format", "concise", "-c", "print('ran')")
    assert (done.status, done.out) == (0, "ran\n")
    assert "WG003" in done.err
    assert "WG999" in done.err


# -- places that cannot be written


def test_json_into_a_missing_folder_stops_before_the_script(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "print('started')\n")
    for target in ("absent/out.json", ".", "x.py/out.json", ""):
        done = whygrad(tmp_path, "run", "--json", target, "x.py")
        assert (done.status, done.out) == (2, "")
        assert "--json" in one_line(done.err)


def test_a_file_in_the_way_of_the_last_run_is_said_and_survives(tmp_path: Path) -> None:
    write(tmp_path, ".whygrad", "mine\n")
    done = whygrad(tmp_path, "run", "--json", "out.json", "-c", "print('ran')")
    assert (done.status, done.out) == (0, "ran\n")
    first, second = done.err.splitlines()
    assert first.startswith("whygrad: ")
    assert "not written" in first
    assert second == "whygrad: incomplete: the script imported neither torch nor tensorflow; there was nothing to watch"
    assert (tmp_path / ".whygrad").read_text() == "mine\n"
    assert stored(tmp_path, "out.json")["script_exit_code"] == 0


def test_a_json_file_that_vanishes_under_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    code = "import os; os.rmdir('results'); print('ran')"
    done = whygrad(tmp_path, "run", "--json", "results/out.json", "-c", code)
    assert done.out == "ran\n"
    assert "results/out.json: not written" in done.err
    assert not crashed(done.err)
    assert stored(tmp_path)["script_exit_code"] == 0


# -- torch missing or broken


@pytest.fixture
def without_torch(tmp_path: Path) -> dict[str, str]:
    text = """\
        from importlib.machinery import PathFinder

        find = PathFinder.find_spec

        def blind(cls, fullname, path=None, target=None):
            return None if fullname in ("torch", "tensorflow") else find(fullname, path, target)

        PathFinder.find_spec = classmethod(blind)
        """
    return {"PYTHONPATH": str(write(tmp_path, "hidden/sitecustomize.py", text).parent)}


def test_a_missing_torch_is_one_sentence(tmp_path: Path, without_torch: dict[str, str]) -> None:
    write(tmp_path, "train.py", BROKEN)
    done = whygrad(tmp_path, "run", "train.py", env=without_torch)
    assert (done.status, done.out) == (2, "")
    assert "neither torch nor tensorflow is installed" in one_line(done.err)


def test_a_missing_torch_does_not_replace_the_last_run(tmp_path: Path, without_torch: dict[str, str]) -> None:
    assert whygrad(tmp_path, "run", "-q", "-c", "pass").status == 0
    before = (tmp_path / ".whygrad" / "last.json").read_bytes()
    assert whygrad(tmp_path, "run", "-c", "pass", env=without_torch).status == 2
    assert (tmp_path / ".whygrad" / "last.json").read_bytes() == before


def test_the_other_commands_need_no_torch(tmp_path: Path, without_torch: dict[str, str]) -> None:
    assert whygrad(tmp_path, "explain", "WG101", env=without_torch).status == 0
    assert whygrad(tmp_path, "report", env=without_torch).status == 2


def test_a_torch_that_fails_to_import_is_the_scripts_affair(tmp_path: Path) -> None:
    write(tmp_path, "torch/__init__.py", "raise ImportError('libtorch is broken')\n")
    text = (
        "for _ in range(2):\n    try:\n        import torch\n    except ImportError as error:\n        print(error)\n"
    )
    write(tmp_path, "train.py", text)
    done = whygrad(tmp_path, "run", "train.py")
    assert (done.status, done.out) == (0, "libtorch is broken\n" * 2)
    assert not crashed(done.err)


# -- explain and rules


def test_every_rule_has_a_page_and_a_line(capsys: Captured) -> None:
    listed = own(capsys, "rules")
    assert (listed.status, listed.err) == (0, "")
    rows = listed.out.splitlines()
    entries: dict[str, Rule | verdicts.Page] = {**rules(), **verdicts.pages()}
    assert [row.split()[0] for row in rows] == sorted(entries)
    for code, rule in entries.items():
        page = own(capsys, "explain", code)
        assert (page.status, page.err) == (0, "")
        assert page.out.startswith(f"{code} {rule.name}\n\n")
        assert any(row.startswith(code) and rule.name in row and rule.summary in row for row in rows)


def test_a_page_is_found_by_code_in_any_case_and_by_name(capsys: Captured) -> None:
    page = own(capsys, "explain", "WG101").out
    assert "```python bad" in page
    assert "```python good" in page
    for other in ("wg101", "rewrapped-tensor", " Rewrapped-Tensor "):
        assert own(capsys, "explain", other) == Ended(0, page, "")


def test_codes_without_a_page_are_said_to_be_so(capsys: Captured) -> None:
    for code in [c for c in NAMES if c not in rules() and c not in verdicts.pages()]:
        done = own(capsys, "explain", code)
        assert (done.status, done.out) == (2, "")
        assert code in one_line(done.err)
    for wanted in ("WG999", "", "nothing-like-it"):
        done = own(capsys, "explain", wanted)
        assert (done.status, done.out) == (2, "")
        assert "whygrad rules" in one_line(done.err)


# -- report


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    folder = tmp_path_factory.mktemp("ran")
    write(folder, "größe.py", BROKEN.replace("policy", "größe"))
    return folder, whygrad(folder, "run", "größe.py")


def test_the_report_is_rendered_again_on_stdout(ran: tuple[Path, Ended]) -> None:
    folder, first = ran
    again = whygrad(folder, "report")
    assert first.status == 1
    assert first.err.startswith("error[WG101]")
    assert again == Ended(1, first.err, "")


def test_the_report_needs_neither_the_script_nor_its_folder(ran: tuple[Path, Ended], tmp_path: Path) -> None:
    folder, _ = ran
    data = (folder / ".whygrad" / "last.json").read_text(encoding="utf-8")
    write(tmp_path, "kept.json", data)
    again = whygrad(tmp_path, "report", "kept.json")
    assert again.status == 1
    assert f"collected = {CUT}" in again.out


def test_the_report_in_its_other_forms(
    ran: tuple[Path, Ended], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(ran[0])
    text = (ran[0] / ".whygrad" / "last.json").read_text(encoding="utf-8")
    assert own(capsys, "report", "--format", "json") == Ended(1, text, "")
    done = own(capsys, "report", "--format", "concise")
    assert (done.status, done.err) == (1, "")
    [row] = done.out.splitlines()
    assert "größe.py:8:17: error[WG101] größe is not learning" in row


def test_the_colour_of_a_report(ran: tuple[Path, Ended], monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(ran[0])
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def coloured(*arguments: str) -> bool:
        return "\x1b[" in own(capsys, "report", *arguments).out

    assert not coloured()
    assert not coloured("--color", "auto")
    assert coloured("--color", "always")
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("--color", "always")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not coloured(), "NO_COLOR wins over FORCE_COLOR"
    monkeypatch.delenv("NO_COLOR")
    assert coloured()
    assert not coloured("--color", "never")
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert coloured("--color", "always"), "always is always"


def test_a_terminal_that_knows_only_ascii_still_gets_the_report(ran: tuple[Path, Ended]) -> None:
    for form in ("text", "concise", "json"):
        done = whygrad(ran[0], "report", "--format", form, env={"PYTHONIOENCODING": "ascii"})
        assert done.status == 1
        assert done.err == ""
        assert "WG101" in done.out


def test_help_and_pages_need_only_ascii(tmp_path: Path) -> None:
    for arguments in (["--help"], ["run", "--help"], ["rules"], ["explain", "WG101"]):
        done = whygrad(tmp_path, *arguments, env={"PYTHONIOENCODING": "ascii"})
        assert (done.status, done.err) == (0, "")
        assert done.out


def test_a_reader_that_has_enough_is_no_error(ran: tuple[Path, Ended]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for arguments in (["report"], ["rules"], ["explain", "WG101"]):  # as in `whygrad rules | true`
            done = subprocess.run(
                [sys.executable, "-m", "whygrad", *arguments],
                cwd=ran[0],
                env=environment(),
                stdout=writer,
                stderr=subprocess.PIPE,
                timeout=LONGEST,
                check=False,
            )
            assert done.stderr == b""
            assert done.returncode in (0, 1)
    finally:
        os.close(writer)


def test_no_report_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    done = own(capsys, "report")
    assert (done.status, done.out) == (2, "")
    assert "whygrad run" in one_line(done.err)
    (tmp_path / "folder").mkdir()
    done = own(capsys, "report", "folder")
    assert (done.status, done.out) == (2, "")
    assert "folder" in one_line(done.err)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "not a readable report"),
        (b"{", "not a readable report"),
        (b"\xff\xfe\x00", "not a readable report"),
        (b"[" * 100_000, ""),
        (b"[]", "not a whygrad report"),
        (b"3", "not a whygrad report"),
        (b'{"results": []}', "not a whygrad report"),
        (b'{"version": 99}', "newer"),
        (b'{"version": 99, "findings": "of another kind"}', "newer"),
        (b'{"version": "one"}', ""),
        (b'{"version": null}', ""),
        (b'{"version": 1}', "damaged"),
        (b'{"version": 0}', ""),
    ],
)
def test_a_file_that_is_no_report_of_ours(tmp_path: Path, capsys: Captured, text: bytes, says: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(text)
    done = own(capsys, "report", str(file))
    assert (done.status, done.out) == (2, "")
    row = one_line(done.err)
    assert "report.json" in row
    assert says in row


def _set(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


DAMAGE: list[Callable[[Any], None]] = [
    _set("findings", value=None),
    _set("findings", value=[3]),
    _set("findings", 0, "severity", value="fatal"),
    _set("findings", 0, "fix", value="a text"),
    _set("findings", 0, "message", value=None),
    _set("findings", 0, "why", value=["a", "list"]),
    _set("findings", 0, "labels", value=[{"text": "no span"}]),
    _set("findings", 0, "span", value="train.py:8"),
    _set("findings", 0, "span", value={"file": "x.py"}),
    _set("findings", 0, "span", "line", value="eight"),
    _set("findings", 0, "span", "col", value=None),
    _set("findings", 0, "span", "file", value=7),
    _set("parameters", value=[{"name": "only"}]),
    _set("losses", value=[{"name": "only"}]),
    _set("losses", value="text"),
    _set("source", value=[]),
    _set("source", value={"x.py": {"first": "text"}}),
    _set("limits", value=None),
]


@pytest.mark.parametrize("number", range(len(DAMAGE)))
@pytest.mark.parametrize("form", ["text", "concise"])
def test_a_damaged_report_is_refused_in_a_line_or_shown(
    ran: tuple[Path, Ended], tmp_path: Path, capsys: Captured, number: int, form: str
) -> None:
    data = copy.deepcopy(stored(ran[0]))
    DAMAGE[number](data)
    file = write(tmp_path, "report.json", json.dumps(data))
    done = own(capsys, "report", "--format", form, str(file))
    if done.status == 2:
        assert done.out == ""
        assert "damaged" in one_line(done.err)
    else:
        assert "[WG101]" in done.out
        assert done.err == ""

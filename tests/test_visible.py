"""Nothing from outside commands a terminal or misleads a reader: what cannot be seen is written out."""

from __future__ import annotations

import ast
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

import whygrad
from cli_running import BROKEN, CUT_LINE, write
from cli_running import whygrad as command
from test_cli_other import one_line, own
from whygrad import visible
from whygrad.asking import Explanation
from whygrad.cli.output import Painted, Voice, rendered
from whygrad.finding import Finding, Label
from whygrad.report.html.page import page
from whygrad.report.json import dumps
from whygrad.report.model import Report
from whygrad.report.snippet import snippet
from whygrad.report.text import flat, plain
from whygrad.session import annotate
from whygrad.trace import Site

Captured = pytest.CaptureFixture[str]
ATTACK = "\x1b[2J\x1b]8;;http://evil\x07x\x9b31m\u202egpj\u2066\u200b\u2028\x7f\ud800\r"
SHOWN = r"\x1b[2J\x1b]8;;http://evil\x07x\x9b31m\u202egpj\u2066\u200b\u2028\x7f\ud800\r"
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_every_character_that_cannot_be_seen_is_written_out() -> None:
    for number in range(sys.maxunicode + 1):
        sign = chr(number)
        escaped = visible.line(sign)
        if unicodedata.category(sign) in UNSEEN and sign != "\t":
            assert escaped.startswith("\\")
            assert escaped.isascii()
        assert escaped == sign or ast.literal_eval(f"'{escaped}'") == sign


@pytest.mark.parametrize("words", ["größe", "日本語", "x\ty", "emoji 🙂", "naïve ∇θ → ½", "\\x1b", "نص"])
def test_what_can_be_read_stays_as_it_is(words: str) -> None:
    assert visible.line(words) == visible.block(words) == words


def test_a_newline_is_layout_in_a_block_and_a_sign_in_a_line() -> None:
    assert visible.block("a\n\tb") == "a\n\tb"
    assert visible.line("a\n\tb") == "a\\n\tb"


@given(st.text())
def test_once_is_enough(words: str) -> None:
    assert visible.line(visible.line(words)) == visible.line(words)
    assert visible.block(visible.line(words)) == visible.line(words)


# -- reports


def attacked() -> Report:
    site = Site(f"{ATTACK}.py", 3, 4, 3, 9, f"update{ATTACK}")
    finding = Finding("WG103", "detached-path", "error", f"net{ATTACK} is not learning\nwhygrad: healthy.", site)
    finding.here = finding.why = finding.seen = finding.fix = ATTACK
    finding.labels = [Label(Site("other.py", 1), ATTACK)]
    return Report(
        [finding],
        script=f"train.py {ATTACK}",
        limits=[f"limit {ATTACK}\nwhygrad: forged"],
        source={f"{ATTACK}.py": {3: f"    {ATTACK}"}, "other.py": {1: ATTACK}},
    )


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("form", ["text", "concise"])
@pytest.mark.parametrize("color", ["always", "never"])
def test_a_report_shows_what_it_holds_in_its_own_colours(form: str, color: str) -> None:
    text = rendered(attacked(), form, color, terminal=True)
    assert ("\x1b[" in text) is (color == "always" and form == "text")
    seen = uncoloured(text)
    assert visible.block(seen) == seen
    assert SHOWN in seen
    assert not re.search("^whygrad: (healthy|forged)", seen, re.MULTILINE)


def test_text_and_page_show_it_and_json_keeps_it() -> None:
    report = attacked()
    assert visible.block(plain(report)) == plain(report)
    assert visible.block(page(report)) == page(report)
    assert SHOWN in page(report)
    written = dumps(report)
    assert written.isascii()
    assert json.loads(written)["findings"][0]["here"] == ATTACK


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ("x = y.detach()", "y.detach()"),
        ("\tx = y.detach()", "y.detach()"),
        ('x = f("\x1b[31m\u202e", y.detach())', "y.detach()"),
        ('x = f("\x1b[31m").detach()  # \x0c', 'f("\x1b[31m").detach()'),
        ("\x0c\x0bx = y\u200b.detach()\r", "y\u200b.detach()"),
    ],
)
def test_the_caret_stands_under_the_expression_as_it_is_shown(line: str, expression: str) -> None:
    start = line.index(expression)
    site = Site("train.py", 3, start, 3, start + len(expression))
    rows = flat(snippet(Finding("WG103", "x", "error", "m", site), {"train.py": {3: line}}, "red")).split("\n")
    source, marks = rows[2], rows[3]
    first = marks.index("^")
    assert source[first : first + marks.count("^")] == visible.line(expression)
    assert [c == "\t" for c in source[:first]] == [c == "\t" for c in marks[:first]]


@pytest.mark.parametrize(("col", "end"), [(10**9, 10**9), (0, 10**9), (5, 2), (10**9, 0)])
def test_a_caret_is_never_longer_than_its_line(col: int, end: int) -> None:
    finding = Finding("WG103", "x", "error", "m", Site("train.py", 3, col, 3, end))
    rows = flat(snippet(finding, {"train.py": {3: "x = 1"}}, "red")).split("\n")
    assert all(len(row) < 40 for row in rows)


def test_a_paragraph_without_end_is_cut() -> None:
    finding = Finding("WG103", "x", "error", "m" * 3_000_000, None, why="w" * 3_000_000)
    assert len(plain(Report([finding]))) < 3_100_000  # The last line names the finding once, as it is.


# -- everything else that is said


def test_what_is_said_is_visible_unless_it_was_drawn_here(capsys: Captured) -> None:
    voice = Voice(sys.stderr)
    assert voice.complain(f"no file {ATTACK}\nwhygrad: healthy") == 2
    voice.say(f"{ATTACK}\n")
    voice.say(Painted("\r\x1b[K"))
    said = capsys.readouterr().err
    assert said == f"whygrad: no file {SHOWN}\\nwhygrad: healthy\n{SHOWN}\n\r\x1b[K"


NAMED = ATTACK.replace("\ud800", "").replace("/", "").replace(":", "")
"""What a name of a file may hold."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", NAMED],
        ["report", f"--{NAMED}"],
        ["plot", NAMED, "-o", f"{NAMED}.svg"],
        ["plot", "-o", NAMED],
        ["top", f"--{NAMED}"],
        ["explain", NAMED],
        ["run", f"{NAMED}.py"],
        ["run", "--json", f"{NAMED}x/y", "-c", "1"],
        ["probe", f"{NAMED}:make"],
        ["learn", "check", NAMED],
    ],
)
def test_a_name_in_a_complaint_is_visible(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    done = own(capsys, *arguments)
    assert (done.status, done.out) == (2, "")
    assert visible.block(done.err) == done.err
    assert "202e" in done.err


def test_a_project_file_is_quoted_visibly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "pyproject.toml", '[tool.whygrad]\n"log\u202e\\u001b[2J" = 1\n')
    done = own(capsys, "run", "-c", "print(1)")
    assert (done.status, done.out) == (2, "")
    assert visible.block(one_line(done.err)) == one_line(done.err)


def test_a_script_of_attacks_is_named_visibly(tmp_path: Path) -> None:
    """The name of the file, the line that is quoted, an argument and a variable."""
    name = "tr\u202eain\x1b[2J.py"
    hostile = BROKEN.replace("log_probs))", 'log_probs))  # \x1b[2J \u202e "\x9b"')
    (tmp_path / name).write_text(hostile, encoding="utf-8")
    done = command(tmp_path, "run", name, ATTACK.replace("\ud800", ""))
    assert done.status == 1
    assert "WG101" in done.err
    assert visible.block(done.err) == done.err
    assert (
        rf'{CUT_LINE} |     collected = torch.nn.Parameter(torch.stack(log_probs))  # \x1b[2J \u202e "\x9b"' in done.err
    )
    again = command(tmp_path, "report")
    assert again.out == done.err
    assert visible.block((tmp_path / ".whygrad/last.html").read_text(encoding="utf-8")).count(r"\u202e") >= 3


def test_answers_and_notes_in_python_are_visible() -> None:
    answer = Explanation((), {f"net{ATTACK}": f"cut at {ATTACK}\nforged"}, True)
    assert str(answer).count("\n") == 1
    assert visible.block(str(answer)) == str(answer)
    error = RuntimeError("x")
    report = attacked()
    report.findings[0].evidence["raised"] = "x"
    annotate(error, report)
    assert visible.line(error.__notes__[0]) == error.__notes__[0]


def test_only_one_place_makes_text_for_a_terminal() -> None:
    """A new message cannot forget: whoever wants a `Text` gets it from `styled`, whoever prints uses a Voice."""
    home = Path(whygrad.__file__).parent
    makers, printers = set(), set()
    for file in home.rglob("*.py"):
        name = file.relative_to(home).as_posix()
        if name.startswith(("agents/", "learn/exercises/")):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("Text", "Text.assemble", "Text.from_markup", "Text.from_ansi"):
                makers.add(name)
            if called == "print" and "visible." not in ast.unparse(node):
                printers.add(name)
    assert makers == {"report/styled.py"}
    # A notebook's answer, and a worker's line to its parent. (The script's own last words are Python's.)
    assert printers == {"learn/notebook.py", "learn/worker.py"}
    assert Text(ATTACK).plain != visible.line(ATTACK)

"""The page as text: nothing breaks out of it, its numbers are those of the report, and it is made in no time."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_running import BROKEN, HEALTHY, python, stored, whygrad, write
from html_reports import ATTACK, attacking, large
from whygrad import visible
from whygrad.finding import Finding
from whygrad.report.html.highlight import Highlighter, Span
from whygrad.report.html.markup import data, el, text
from whygrad.report.html.page import excerpt, page
from whygrad.report.json import load
from whygrad.report.model import Report
from whygrad.report.numbers import number, percent, shape
from whygrad.report.repair import repair
from whygrad.report.words import foremost, paragraphs, suppression
from whygrad.trace import Site
from whygrad.trace.gap import Gap


class Reading(HTMLParser):
    """Tags, tables and text of a page, by section."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.said: dict[str, str] = {}
        self._table, self._section, self._inside = "", "head", ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._inside = tag
        if tag == "section":
            self._section = found["id"] or ""
        if tag == "table":
            self._table = found.get("class") or ""
            self.tables.setdefault(self._table, [])
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        if tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        if tag == "table":
            self._table = ""

    def handle_data(self, words: str) -> None:
        if self._inside in ("script", "style"):
            return
        self.said[self._section] = self.said.get(self._section, "") + words
        if self._table and self.tables[self._table] and self.tables[self._table][-1]:
            self.tables[self._table][-1][-1] += words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page")
    (made / "broken").mkdir()
    write(made, "train.py", HEALTHY)
    write(made / "broken", "train.py", BROKEN)
    arguments = ("run", "--budget", "100", "--json", "report.json", "--html", "report.html")
    alone = {"OMP_NUM_THREADS": "1"}
    assert whygrad(made, *arguments, "train.py", "--seed", "<1>", env=alone).status == 0
    assert whygrad(made / "broken", *arguments, "train.py", env=alone).status == 1
    return made


@pytest.fixture(scope="module")
def healthy(folder: Path) -> tuple[dict[str, Any], Reading]:
    return stored(folder, "report.json"), Reading((folder / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def broken(folder: Path) -> tuple[Report, Reading]:
    return load(folder / "broken/report.json"), Reading((folder / "broken/report.html").read_text(encoding="utf-8"))


def test_every_run_leaves_its_page(folder: Path) -> None:
    assert (folder / ".whygrad/last.html").read_text() == (folder / "report.html").read_text()
    again = whygrad(folder, "report", "--html", "again.html")
    assert (again.status, again.err) == (0, "whygrad: report in again.html\n")
    assert (folder / "again.html").read_text() == (folder / "report.html").read_text()


def test_a_place_that_cannot_be_written_is_said_before_the_script_starts(folder: Path) -> None:
    ended = whygrad(folder, "run", "--html", "missing/report.html", "train.py")
    assert ended.status == 2
    assert ended.err == "whygrad: --html missing/report.html: cannot be written; the script was not started\n"
    ended = whygrad(folder, "report", "--html", "missing/report.html")
    assert (ended.status, ended.err.count("\n")) == (2, 1)


def test_the_head_says_what_ran(healthy: tuple[dict[str, Any], Reading]) -> None:
    report, found = healthy
    said = found.said["head"]
    assert "healthy" in said
    assert "--seed <1>" in said
    assert f"{report['updates']} watched, {report['traced_updates']} traced" in said
    assert report["framework"] in said
    assert f"Python {report['python']}" in said


def test_numbers_of_the_matrix_are_those_of_the_report(healthy: tuple[dict[str, Any], Reading]) -> None:
    report, found = healthy
    heads, *rows = found.tables["matrix"]
    assert len(rows) == len(report["matrix"])
    for row, cells in zip(report["matrix"], rows, strict=True):
        for module, cell in row["cells"].items():
            shown = cells[next(i for i, head in enumerate(heads) if head.startswith(module))]
            assert percent(cell["share"]) in shown
            assert f"norm {number(cell['norm'])}" in shown


def test_numbers_of_the_parameters_are_those_of_the_report(healthy: tuple[dict[str, Any], Reading]) -> None:
    report, found = healthy
    courses = {p["name"]: p for p in report["telemetry"]["parameters"]}
    _, *rows = found.tables["parameters"]
    assert len(rows) == len(report["parameters"]) == 2
    for row, cells in zip(report["parameters"], rows, strict=True):
        assert cells[0] == row["name"]
        assert cells[1] == shape(row["shape"])
        assert cells[2] == ", ".join(row["held_by"])
        assert cells[5] == number(courses[row["name"]]["raw"]["norm"])
        assert cells[7] == ("yes" if row["changed"] else "no")


def test_numbers_of_the_flow_are_those_of_the_report(healthy: tuple[dict[str, Any], Reading]) -> None:
    report, found = healthy
    _, *rows = found.tables["bars"]
    (layer,) = {p["layer"] for p in report["telemetry"]["parameters"]}
    assert [row[0] for row in rows] == [layer]
    raw = [(p["size"], p["raw"]) for p in report["telemetry"]["parameters"]]
    mean = (sum(n * r["mean"] ** 2 for n, r in raw) / sum(n for n, _ in raw)) ** 0.5
    assert rows[0][2] == number(mean)
    assert rows[0][3] == number(max(r["max"] for _, r in raw))


def test_the_order_of_an_update_is_that_of_the_report(healthy: tuple[dict[str, Any], Reading]) -> None:
    report, found = healthy
    _, *rows = found.tables["rounds"]
    events = [event for r in report["rounds"] for event in r["events"]]
    assert [row[-2].split(" train.py")[0].strip() for row in rows] == [event["text"] for event in events]
    assert [event["kind"] for event in events[:3]] == ["clear", "backward", "step"]


def test_raw_data_is_the_whole_report(folder: Path) -> None:
    packed = re.search(r'id="raw">([^<]*)<', (folder / "report.html").read_text(encoding="utf-8"))
    assert packed is not None
    assert json.loads(gzip.decompress(base64.b64decode(packed[1]))) == stored(folder, "report.json")


def test_a_card_has_the_terminals_words(broken: tuple[Report, Reading]) -> None:
    report, found = broken
    (finding,) = report.loud
    said = found.said["causes"]
    assert foremost(report) in found.said["head"]
    assert finding.message in said
    assert finding.here in said
    assert all(label.text in said for label in finding.labels)
    assert all(words in said for title, words in paragraphs(finding) if title != "more")
    assert suppression(finding) in said
    assert "whygrad explain WG101" in said
    assert [row for row in found.tables["matrix"][1:] if "missing" in " ".join(row) and "WG101" in " ".join(row)]


def test_a_finding_has_an_address(broken: tuple[Report, Reading]) -> None:
    _, found = broken
    assert "WG101-train.py-8" in {attributes.get("id") for _, attributes in found.tags}


def links(markup: str) -> list[str]:
    return [str(a["href"]) for _, a in Reading(markup).tags if "href" in a]


def test_links_stay_inside_and_lead_somewhere(folder: Path) -> None:
    markup = (folder / "broken/report.html").read_text(encoding="utf-8")
    names = {a["id"] for _, a in Reading(markup).tags if "id" in a}
    assert all(link.startswith("#") for link in links(markup))
    assert {link[1:] for link in links(markup)} <= names


def test_a_layer_that_was_sampled_once_has_no_course() -> None:
    report = large(parameters=4, samples=1)
    assert [link for link in links(page(report)) if link.startswith("#n")] == []
    assert [link for link in links(page(large(parameters=4, samples=2))) if link.startswith("#n")] != []


def structure(markup: str) -> list[str]:
    return [tag for tag, _ in Reading(markup).tags]


def test_no_text_of_the_user_becomes_markup(broken: tuple[Report, Reading], tmp_path: Path) -> None:
    report, _ = broken
    attacked = page(attacking(report, tmp_path / "attack.json"))
    assert "img" not in structure(attacked)
    assert structure(attacked).count("script") == structure(page(report)).count("script")
    assert not [a for _, a in Reading(attacked).tags if any(name.startswith("on") or name == "style" for name in a)]
    assert "\u202e" not in attacked
    assert text(ATTACK.split(">")[0]) in attacked


def test_the_policy_forbids_every_request(folder: Path) -> None:
    found = Reading((folder / "report.html").read_text(encoding="utf-8"))
    (policy,) = [a["content"] for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(part.strip().split(" ", 1) for part in str(policy).split(";"))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])
    assert not [a for _, a in found.tags if a.get("src")]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_comes_out_as_itself(inside: str, attribute: str) -> None:
    found = Reading(str(el("section", el("p", inside, title=attribute), id="x")))
    assert structure(str(el("p", inside, title=attribute))) == ["p"]
    assert found.said.get("x", "") == visible.block(inside)


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=3)))
def test_any_data_stays_in_its_place(value: object) -> None:
    written = str(data("x", value))
    assert written.count("<") == 2
    assert json.loads(written.split(">", 1)[1].rsplit("<", 1)[0]) == seen(value)


def seen(value: Any) -> Any:
    return visible.block(value) if isinstance(value, str) else [seen(entry) for entry in value]


@given(st.text(max_size=80), st.integers(0, 90), st.integers(0, 90))
def test_colour_changes_no_character(line: str, start: int, length: int) -> None:
    shown = Highlighter().line(line, (Span(start, start + length, "primary"),))
    plain = Highlighter().line(line)
    strip = re.compile(r"</?(?:i|mark)[^>]*>")
    assert strip.sub("", shown) == strip.sub("", plain) == text(visible.line(line))


def test_an_open_string_goes_on_over_lines() -> None:
    colour = Highlighter()
    lines = [colour.line(line) for line in ('"""if', "for", 'x""" if')]
    assert [line.count('class="k"') for line in lines] == [0, 0, 1]


FIXES = [
    ("delete line 3", "    y = f(x)", (8, 12), [("-", "    y = f(x)")]),
    ("delete line 4", "    y = f(x)", (8, 12), []),
    ("remove .detach() here; x", "    y = x.detach()", (8, 18), [("-", "    y = x.detach()"), ("+", "    y = x")]),
    ("use rsample(), or", "a = d.sample()", (4, 14), [("-", "a = d.sample()"), ("+", "a = d.rsample()")]),
    ("write x = x.detach()", "  x.detach()", (2, 12), [("-", "  x.detach()"), ("+", "  x = x.detach()")]),
    ("write x = x.detach()", "  x.detach(); y", (2, 12), []),
    ("use torch.stack on the tensors", "y = f(x)", (4, 8), []),
]


@pytest.mark.parametrize(("fix", "line", "span", "wanted"), FIXES)
def test_a_change_is_shown_only_where_the_words_leave_no_choice(
    fix: str, line: str, span: tuple[int, int], wanted: list[tuple[str, str]]
) -> None:
    finding = Finding("WG101", "x", "error", "m", Site("a.py", 3, span[0], 3, span[1]), fix=fix)
    assert [(sign, after) for sign, _, after in repair(finding, {"a.py": {3: line}})] == wanted


def test_a_thousand_parameters_and_ten_thousand_updates_stay_small() -> None:
    report = large()
    began = time.perf_counter()
    markup = page(report)
    assert time.perf_counter() - began < 5
    assert len(markup) < 800_000
    assert len(Reading(markup).tables["parameters"]) == 1001


def test_a_usual_page_is_small_and_made_at_once(broken: tuple[Report, Reading]) -> None:
    report, _ = broken
    began = time.process_time()
    for _ in range(5):
        markup = page(report)
    assert (time.process_time() - began) / 5 < 0.15
    assert len(markup) < 200_000


def test_an_empty_report_has_a_page() -> None:
    markup = page(Report(gaps=[Gap("no optimizer step was seen", "there is no training to explain yet")]))
    assert "no optimizer step was seen" in Reading(markup).said["head"]


def test_a_page_that_cannot_be_made_takes_nothing_along(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY)
    patch = "import whygrad.cli.run as run; from whygrad.cli.main import main; from whygrad.about import HOME; "
    patch += "run.page = eval(compile('lambda _: 1 / 0', HOME + 'page.py', 'eval')); main(['run', 'train.py'])"
    ended = python(tmp_path, "-c", patch)
    assert "the page could not be made (ZeroDivisionError" in ended.err
    assert "whygrad: healthy." in ended.err
    assert "healthy" in (tmp_path / ".whygrad/last.html").read_text()
    assert stored(tmp_path)["updates"] == 3


def test_what_a_notebook_shows_has_no_script(broken: tuple[Report, Reading]) -> None:
    report, _ = broken
    shown = excerpt(report)
    assert "script" not in structure(shown)
    assert foremost(report) in Reading(shown).said["head"]
    assert {"causes", "matrix"} <= set(Reading(shown).said)

"""The page in a real browser: what it does, what it asks for, and whether everybody can read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, Tab, chromium
from cli_running import stored
from html_reports import attacking, large
from script_cases import Nursery
from whygrad.report.html.page import excerpt, page
from whygrad.report.json import load

pytestmark = pytest.mark.skipif(chromium() is None, reason="Chromium is not installed (make test-html installs it)")
ROOT = Path(__file__).parent.parent
SCRIPTS = {
    "broken": "examples/dqn_corridor.py",
    "leaking": "examples/actor_critic_leak.py",
    "healthy": "benchmarks/healthy/sac.py",
}
SECTIONS = ["causes", "matrix", "path", "flow", "rounds", "parameters", "source", "rest"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs, a page each; one of a thousand parameters, and one in which every text attacks."""
    made = tmp_path_factory.mktemp("pages")
    nursery = Nursery("torch.distributions")
    for name, script in SCRIPTS.items():
        (made / name).mkdir()
        nursery.run(made / name, str(ROOT / script))
        (made / name / ".whygrad/last.html").rename(made / f"{name}.html")
        (made / name / "report.json").rename(made / f"{name}.json")
    nursery.close()
    made.joinpath("large.html").write_text(page(large()), encoding="utf-8")
    attacked = attacking(load(made / "leaking.json"), made / "attack.json")
    made.joinpath("attack.html").write_text(page(attacked), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture
def tabs(browser: Browser) -> Iterator[list[Tab]]:
    opened: list[Tab] = []
    yield opened
    for tab in opened:
        tab.close()


class Opening:
    def __init__(self, browser: Browser, folder: Path, tabs: list[Tab]) -> None:
        self._browser, self._folder, self._tabs = browser, folder, tabs

    def __call__(self, name: str, **options: Any) -> Tab:
        tab = self._browser.tab(**options)
        self._tabs.append(tab)
        tab.open((self._folder / f"{name}.html").as_uri())
        return tab


@pytest.fixture
def opened(browser: Browser, folder: Path, tabs: list[Tab]) -> Opening:
    return Opening(browser, folder, tabs)


PAGES = [*SCRIPTS, "large", "attack"]


@pytest.mark.parametrize("name", PAGES)
def test_it_asks_for_nothing_complains_about_nothing_and_fits(name: str, opened: Opening, folder: Path) -> None:
    tab = opened(name, width=1280)
    assert tab.run("document.documentElement.scrollWidth") <= 1280
    tab.resize(390)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    assert tab.run("[...document.querySelectorAll('main > section')].map(s => s.id)") == SECTIONS
    assert tab.complaints() == []
    assert tab.requests() == [(folder / f"{name}.html").as_uri()]


def test_no_text_of_the_user_runs(opened: Opening) -> None:
    tab = opened("attack")
    tab.run("document.querySelectorAll('.matrix a[data-row]').forEach(a => a.click())")
    tab.run("document.querySelectorAll('#path select').forEach(s => s.dispatchEvent(new Event('change')))")
    assert tab.run("window.hit") is None
    assert tab.run("document.images.length") == 0
    assert "</script></style>" in tab.run("document.querySelector('#path-drawing').textContent")
    assert tab.complaints() == []


CONTRAST = """
(() => {
  const parse = (c) => {
    const n = (c.match(/-?[\\d.]+(e-?\\d+)?/g) || []).map(Number);
    const scale = c.startsWith("color(") ? 255 : 1;
    return [n[0] * scale, n[1] * scale, n[2] * scale, n.length > 3 ? n[3] : 1];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const behind = (e) => {
    const layers = [];
    for (let n = e; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255, 1]);
  };
  const light = (c) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = {}, low = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, words = walker.currentNode.textContent.trim();
    if (!words || !e.checkVisibility() || e.closest("script,noscript,title,.sr,option")) continue;
    const style = getComputedStyle(e);
    const back = behind(e), ink = over(parse(e.closest("svg") ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const kind = `${e.tagName}.${e.className.baseVal ?? e.className}`;
    seen[kind] = ratio;
    if (ratio < 4.5) low[`${kind} ${words.slice(0, 20)}`] = ratio;
  }
  return [Object.keys(seen).length, low];
})()
"""


BACKGROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}


@pytest.mark.parametrize("scheme", BACKGROUNDS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_text_stands_out_from_its_background(name: str, scheme: str, opened: Opening) -> None:
    tab = opened(name, scheme=scheme)
    assert tab.run("getComputedStyle(document.documentElement).backgroundColor") == BACKGROUNDS[scheme]
    kinds, low = tab.run(CONTRAST)
    assert kinds > 30
    assert low == {}
    tab.run("document.querySelector('h2').style.color = '#777'")
    _, spoilt = tab.run(CONTRAST)
    assert list(spoilt) == ["H2. Causes"]


def test_a_field_of_the_matrix_opens_its_path(opened: Opening) -> None:
    tab = opened("healthy")
    tab.run("document.querySelector('.matrix td.constant a').click()")
    first = tab.run("document.querySelector('#path-said').textContent")
    assert "does not arrive at" in first
    tab.run("document.querySelectorAll('.matrix td.consumed a')[2].click()")
    chosen = tab.run("[...document.querySelectorAll('#path select')].map(s => s.selectedOptions[0].text)")
    said = tab.run("document.querySelector('#path-said').textContent")
    assert chosen[2] in said
    assert "arrives at" in said
    assert tab.run("document.querySelectorAll('#path-drawing .reached').length") > 2
    assert tab.run("document.querySelectorAll('.matrix a[aria-current]').length") == 1


def test_the_path_is_the_one_of_the_report(opened: Opening, folder: Path) -> None:
    tab, report = opened("broken"), stored(folder, "broken.json")
    chain = report["paths"]["chains"][0]
    stops = [report["paths"]["stops"][number] for number in chain["stops"]]
    assert tab.run("[...document.querySelectorAll('#path-drawing .op')].map(e => e.textContent)") == [
        stop["name"] for stop in stops
    ]
    assert tab.run("document.querySelectorAll('#path-drawing g.cut').length") == 1
    assert tab.run("document.querySelectorAll('#path-drawing .should').length") == 1
    assert "WG101" in tab.run("document.querySelector('#path-drawing g.cut').textContent")
    linked = tab.run("[...document.querySelectorAll('#path-drawing a')].map(a => a.getAttribute('href'))")
    assert linked
    assert all(tab.run(f"!!document.getElementById({link[1:]!r})") for link in linked if "-63" in link)


def test_a_leak_is_drawn_as_one(opened: Opening) -> None:
    tab = opened("leaking")
    assert "should not by this way" in tab.run("document.querySelector('#path-said').textContent")
    assert tab.run("document.querySelectorAll('#path-drawing g.leak').length") == 1
    assert tab.run("document.querySelectorAll('.matrix td.leaking').length") == 1


def test_the_keyboard_reaches_and_opens_a_path(opened: Opening) -> None:
    tab = opened("healthy")
    tab.run("document.querySelector('.matrix').closest('.scroll').focus()")
    for _ in range(3):
        tab.key("Tab", 9)
    focused = "[document.activeElement.dataset.row, document.activeElement.dataset.module]"
    row, module = tab.run(focused)
    tab.key("Enter", 13)
    assert tab.run("document.querySelector('#path-term').value") == row
    assert tab.run("document.querySelector('#path-module').value") == module


def test_everything_that_can_be_used_has_a_name(opened: Opening) -> None:
    tab = opened("leaking")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    used = ("button", "link", "combobox", "searchbox", "slider", "region", "textbox")
    found = [n for n in nodes if n.get("role", {}).get("value") in used and not n.get("ignored")]
    assert {n["role"]["value"] for n in found} >= {"button", "link", "combobox", "searchbox", "slider", "region"}
    assert [n for n in found if not n.get("name", {}).get("value")] == []
    levels = tab.run("[...document.querySelectorAll('h1,h2')].map(h => h.tagName)")
    assert levels == ["H1"] + ["H2"] * len(SECTIONS)


def test_filter_and_sort(opened: Opening, folder: Path) -> None:
    tab, report = opened("healthy"), stored(folder, "healthy.json")
    names = "[...document.querySelectorAll('#parameter-table tbody tr:not([hidden]) th')].map(e => e.textContent)"
    everything = [p["name"] for p in report["parameters"]]
    assert tab.run(names) == everything
    tab.run("document.querySelector('#filter').focus()")
    tab.type("q_optimizer weight")
    assert tab.run(names) == [n for n in everything if "q1" in n or "q2" in n if "weight" in n]
    assert tab.run("document.querySelector('#filtered').textContent") == f"4 of {len(everything)}"
    tab.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.querySelector('#filter'))")
    sort = "[...document.querySelectorAll('#parameter-table thead button')].find(b => b.textContent === 'norm').click()"
    norms = {p["name"]: p["raw"]["norm"] for p in report["telemetry"]["parameters"]}
    tab.run(sort)
    assert tab.run(names) == sorted(everything, key=lambda n: norms[n])
    tab.run(sort)
    assert tab.run(names) == sorted(everything, key=lambda n: -norms[n])


def test_a_thousand_rows_are_filtered_at_once(opened: Opening) -> None:
    tab = opened("large")
    took = tab.run(
        "(() => { const t = performance.now(); const f = document.querySelector('#filter'); f.value = 'blocks.7';"
        "f.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - t; })()"
    )
    assert tab.run("document.querySelector('#filtered').textContent") == "22 of 1000"
    assert took < 500


def test_the_copy_button_copies(opened: Opening) -> None:
    tab = opened("broken")
    tab.run("document.querySelector('.change button.copy').click()")
    tab.until(lambda: tab.run("document.querySelector('.change button.copy').textContent") == "Copied")
    copied = tab.run("navigator.clipboard.readText()")
    assert copied.startswith("- ")
    assert "loss = torch.tensor(loss, requires_grad=True)" in copied
    tab.run("document.querySelector('.silence button.copy').click()")
    tab.until(lambda: tab.run("navigator.clipboard.readText()") == "# whygrad: ignore[WG101] -- reason")


def test_the_slider_shows_a_phase(opened: Opening, folder: Path) -> None:
    tab, report = opened("healthy"), stored(folder, "healthy.json")
    means = "[...document.querySelectorAll('tr[data-layer] td.number:nth-child(3)')].map(e => e.textContent)"
    whole = tab.run(means)
    move = "(s => {{ s.value = {}; s.dispatchEvent(new Event('input')); }})(document.querySelector('#phase'))"
    tab.run(move.format(1))
    phase = report["telemetry"]["phases"][0]
    said = (
        f"updates {phase['first']} to {phase['last']}" if phase["last"] > phase["first"] else f"update {phase['last']}"
    )
    assert tab.run("document.querySelector('#phase-said').value") == said
    layers = list(dict.fromkeys(p["layer"] for p in report["telemetry"]["parameters"]))
    assert tab.run(means) == [f"{phase['layers'][n][0][1]:.3g}" if n in phase["layers"] else "–" for n in layers]
    tab.run(move.format(0))
    assert tab.run(means) == whole


def test_the_raw_data_can_be_taken_out(opened: Opening, folder: Path) -> None:
    tab = opened("healthy")
    tab.run(
        "window.made = null; URL.createObjectURL = (blob) => { window.made = blob; return '#'; };"
        "document.querySelector('#download').click()"
    )
    tab.until(lambda: tab.run("window.made !== null"))
    assert tab.run("window.made.text().then(JSON.parse)") == stored(folder, "healthy.json")


def test_it_can_be_read_without_script(browser: Browser, folder: Path, tabs: list[Tab]) -> None:
    tab = browser.tab()
    tabs.append(tab)
    tab.without_script()
    tab.open((folder / "broken.html").as_uri())
    shown = tab.call("DOM.getDocument", depth=-1)["root"]
    assert shown["childNodeCount"] == 2
    words = tab.run("document.body.innerText")
    assert "1 error" in words
    assert "the graph ends here: a new leaf without history" in words
    assert "WG101" in tab.run("document.querySelector('#matrix').innerText")
    assert "agent.q_net.4.bias" in tab.run("document.querySelector('#parameters').innerText")
    assert "switched off here" in tab.run("document.querySelector('#path').innerText")
    idle = tab.run("[...document.querySelectorAll('button, input, select')].filter(e => e.checkVisibility()).length")
    assert idle == 0


HOST = """
:not(.markdown).host td, :not(.markdown).host th, :not(.markdown).host tr { text-align: right; padding: 0.5em; }
.host tbody tr:nth-child(even) { background: rgb(1, 2, 3); }
.host dt { float: left; width: 20%; font-weight: bold; }
.host dd { float: left; width: 80%; }
.host :not(pre) > code { background-color: rgb(1, 2, 3); padding: 1px 5px; }
.host table { table-layout: fixed; margin-left: auto; }
"""
"""What a notebook says about every table and list in its outputs (JupyterLab 4)."""
ALIGNED = "[...new Set([...document.querySelectorAll('.lines td')].map(e => getComputedStyle(e).textAlign))]"
PAINTED = (
    "[...document.querySelectorAll('.whygrad tr, .whygrad code')].filter(e => "
    "getComputedStyle(e).backgroundColor == 'rgb(1, 2, 3)').length"
)
NARROWEST = "Math.min(...[...document.querySelectorAll('.said dt')].map(e => e.offsetWidth))"


def test_a_notebooks_own_style_leaves_it_alone(opened: Opening, folder: Path) -> None:
    shown = excerpt(load(folder / "broken.json"))
    outside = f"<!doctype html><style>{HOST}</style><table><tr><td id=theirs>1</td></tr></table>"
    folder.joinpath("notebook.html").write_text(f"{outside}<div class=host>{shown}</div>", encoding="utf-8")
    tab = opened("notebook")
    assert tab.run("document.querySelectorAll('.lines td').length") > 4
    assert set(tab.run(ALIGNED)) == {"left", "right"}  # Line numbers stand on the right.
    assert tab.run("getComputedStyle(document.querySelector('.lines td:not(.number)')).textAlign") == "left"
    assert tab.run(PAINTED) == 0
    assert tab.run(NARROWEST) > 90  # Words, not a letter in each of several lines.
    assert tab.run("getComputedStyle(document.getElementById('theirs')).padding") == "1px"


def test_it_can_be_printed(opened: Opening) -> None:
    tab = opened("broken", width=794)
    tab.media("print")
    assert tab.run("document.querySelector('.contents').checkVisibility()") is False
    assert tab.run("document.querySelector('.card').checkVisibility()") is True
    assert tab.run("document.documentElement.scrollWidth") <= 794
    assert len(tab.call("Page.printToPDF", printBackground=True)["data"]) > 20_000


def test_an_address_leads_to_its_finding(browser: Browser, folder: Path, tabs: list[Tab]) -> None:
    tab = browser.tab()
    tabs.append(tab)
    tab.open((folder / "leaking.html").as_uri() + "#WG203-actor_critic_leak.py-37")
    assert tab.run("document.querySelector(':target').className") == "card error"

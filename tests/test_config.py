"""Configuration and suppression comments: what is meant works, what is mistyped is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from building import Building
from cli_running import Ended, whygrad
from whygrad import suppression, thresholds
from whygrad.config import Config, ConfigError, load, parse
from whygrad.engine import diagnose
from whygrad.finding import Finding
from whygrad.rule import rules
from whygrad.source import files
from whygrad.trace import Kind, Site, Trace


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    project(tmp_path, '[tool.whygrad]\nupdates = 9\ntrace = "always"\nfail-on = "never"\nignore = ["WG103"]\n')
    inner = tmp_path / "src"
    inner.mkdir()
    config = load(inner)
    assert (config.updates, config.trace, config.fail_on, config.ignore) == (9, "always", "never", ("WG103",))
    project(inner, "[project]\nname = 'x'\n")
    assert load(inner).updates == 9
    project(inner, "[tool.whygrad]\n")
    assert load(inner).updates == Config().updates


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.whygrad\n", "not valid TOML"),
        ("[tool.whygrad]\nupdate = 3\n", "unknown key 'update'"),
        ("[tool.whygrad]\nupdates = 0\n", "at least 1"),
        ("[tool.whygrad]\nupdates = true\n", "at least 1"),
        ('[tool.whygrad]\ntrace = "sometimes"\n', "must be one of always, auto, off"),
        ('[tool.whygrad]\nignore = "WG101"\n', "list of codes"),
        ("[tool]\nwhygrad = 3\n", "must be a table"),
    ],
)
def test_a_mistake_is_an_error_that_names_file_and_key(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says) as raised:
        load(project(tmp_path, text))
    assert "pyproject.toml" in str(raised.value)


def detached() -> Trace:
    b = Building()
    net = b.parameter("net.weight")
    cut = b.op("detach", b.linear(net, line=1), line=2, kind=Kind.DETACH)
    b.update(b.op("mean", cut, line=3), b.optimizer("optimizer", net), line=4)
    return b.trace


def test_an_ignored_code_is_not_reported() -> None:
    assert [f.code for f in diagnose(detached())] == ["WG103"]
    ignored = diagnose(detached(), Config(ignore=("WG103",)))
    assert [(f.code, f.suppressed) for f in ignored] == [("WG103", True)]


def test_an_unknown_code_in_the_configuration_is_said() -> None:
    found = diagnose(Trace(), Config(ignore=("WG999",), unknown=("WG999",), file="pyproject.toml"))
    assert [(f.code, f.severity) for f in found] == [("WG003", "warning")]
    assert "WG999" in found[0].message


def commented(line: str) -> tuple[list[Finding], list[Finding]]:
    """A finding on the first line of a source with this comment, and what is said about the comment."""
    files.remember("<commented>", line)
    finding = Finding("WG103", "detached-path", "error", "", Site("<commented>", 1, 0, 1, 5))
    about = suppression.apply([finding], ["<commented>"], rules())
    return [finding], about


@pytest.mark.parametrize(
    ("line", "suppressed", "codes"),
    [
        ("x = y.detach()", False, []),
        ("x = y.detach()  # whygrad: ignore[WG103] -- a fixed teacher", True, []),
        ("x = y.detach()  # whygrad: ignore[wg103, WG101]", True, ["WG002"]),
        ("x = y.detach()  # whygrad: ignore[WG101]", False, ["WG002"]),
        ("x = y.detach()  # whygrad: ignore", True, ["WG001"]),
        ("x = y.detach()  # whygrad: ignore[WG999]", False, ["WG003"]),
        ("x = y.detach()  # whygrad: ignore[WG701] -- a rule of a later version", False, []),
        ('x = "# whygrad: ignore[WG103]"', False, []),
    ],
)
def test_suppression_comments(line: str, suppressed: bool, codes: list[str]) -> None:
    findings, about = commented(line)
    assert findings[0].suppressed is suppressed
    assert [f.code for f in about] == codes


def test_a_comment_anywhere_on_the_statement_counts() -> None:
    findings, _ = commented("x = f(\n    y.detach(),\n)  # whygrad: ignore[WG103]")
    assert findings[0].suppressed


def test_roles_are_stated_by_module() -> None:
    config = parse({"roles": {"teacher": "reference", "net.head": "critic"}}, "pyproject.toml")
    assert dict(config.roles) == {"teacher": "reference", "net.head": "critic"}


@pytest.mark.parametrize("roles", [{"teacher": "wizard"}, ["reference"], {"teacher": 3}])
def test_a_role_that_does_not_exist_is_an_error(roles: object) -> None:
    with pytest.raises(ConfigError, match="role"):
        parse({"roles": roles}, "pyproject.toml")


def test_thresholds_of_a_project_decide() -> None:
    trace = Trace(updates=4)
    trace.singles = {Site("train.py", 3): (4, (1, 3))}
    assert [f.code for f in diagnose(trace)] == ["WG805"]
    assert diagnose(trace, Config(thresholds={"WG805": {"often": 9}})) == []
    assert [f.code for f in diagnose(trace)] == ["WG805"]


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"WG999": {"far": 1.0}}, "no rule of this version"),
        ({"WG802": {"fra": 1.0}}, "known: far, better, often"),
    ],
)
def test_mistyped_thresholds_are_errors(chosen: dict[str, dict[str, float]], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        thresholds.check(chosen, "pyproject.toml")


def test_thresholds_are_numbers() -> None:
    with pytest.raises(ConfigError, match="must be a number"):
        parse({"thresholds": {"WG802": {"far": "1"}}}, "pyproject.toml")
    assert parse({"thresholds": {"WG802": {"far": 1}}}, "pyproject.toml").thresholds == {"WG802": {"far": 1}}


def test_every_threshold_of_the_rules_about_numbers_has_its_reason() -> None:
    wanting = [
        f"{code}.{t.name}"
        for code, rule in rules().items()
        if code.startswith(("WG4", "WG5", "WG8"))
        for t in thresholds.of(rule.module).values()
        if not t.reason
    ]
    assert wanting == []


# -- files that a project file names


def named(folder: Path, start: Path, monkeypatch: pytest.MonkeyPatch, here: Path, **paths: str) -> Config:
    """The configuration of a script in `start` when somebody works `here`."""
    text = "".join(f"{key} = {value!r}\n" for key, value in paths.items())
    project(folder, f"[tool.whygrad]\n{text}")
    monkeypatch.chdir(here)
    return load(start)


def test_a_project_file_names_files_in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "src"
    inner.mkdir()
    config = named(tmp_path, inner, monkeypatch, tmp_path, log="out.jsonl", tensorboard="runs/1")
    assert (config.log, config.tensorboard) == (str(tmp_path / "out.jsonl"), str(tmp_path / "runs/1"))
    assert config.refused == {}
    config = named(inner, inner, monkeypatch, tmp_path, log=str(inner / "out.jsonl"))
    assert (config.log, config.refused) == (str(inner / "out.jsonl"), {})


def test_a_project_file_above_names_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "src"
    inner.mkdir()
    config = named(tmp_path, inner, monkeypatch, inner, log="out.jsonl", tensorboard="runs")
    assert (config.log, config.tensorboard) == ("", "")
    file = tmp_path / "pyproject.toml"
    without, reason, instead = re.split("[:;] ", config.refused["log"])
    assert (without, instead) == ("no log is written", "give --log FILE instead")
    assert reason == f"log in {file} counts only in the script's folder or the current one"
    assert config.refused["tensorboard"].endswith("give --tensorboard DIR instead")


@pytest.mark.parametrize("path", ["/etc/x.jsonl", "../out.jsonl", "src/../out.jsonl", "link/out.jsonl", "away.jsonl"])
def test_a_path_that_leads_out_of_the_folder_is_refused(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    mine.mkdir()
    elsewhere.mkdir()
    (mine / "link").symlink_to(elsewhere)
    (mine / "away.jsonl").symlink_to(elsewhere / "victim")
    config = named(mine, mine, monkeypatch, mine, log=path)
    assert config.log == ""
    assert "leads out of its folder; give --log FILE instead" in config.refused["log"]


def test_a_link_to_the_folder_itself_is_no_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "mine")
    config = named(tmp_path / "mine", tmp_path / "alias", monkeypatch, tmp_path, log="out.jsonl")
    assert (config.log, config.refused) == (str(tmp_path / "mine" / "out.jsonl"), {})


def test_a_run_goes_on_without_and_says_so_unless_the_option_is_given(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    project(tmp_path, '[tool.whygrad]\nlog = "out.jsonl"\n')
    done = whygrad(tmp_path / "code", "run", "-q", "-c", "print('ran')")
    assert (done.status, done.out) == (0, "ran\n")
    refused, rest = done.err.split("\n", 1)
    assert refused.startswith("whygrad: no log is written: log in ")
    given = whygrad(tmp_path / "code", "run", "-q", "--log", "../mine.jsonl", "-c", "print('ran')")
    assert given == Ended(0, "ran\n", rest)
    assert not list(tmp_path.glob("**/out.jsonl"))


def test_options_in_python_are_free(tmp_path: Path) -> None:
    assert parse({"log": "/elsewhere/x.jsonl", "tensorboard": tmp_path}, "watch()").log == "/elsewhere/x.jsonl"


@pytest.mark.parametrize(
    "text",
    [
        "updates = " + "9" * 5000,
        "updates = 0x" + "f" * 5000,
        "budget = nan",
        "x = " + "[" * 5000 + "]" * 5000,
        'log = "a\\u0000b"',
        "log = ['x']",
        "fail-on = [0x" + "f" * 5000 + "]",
        "'" + "k" * 5000 + "' = 1",
    ],
)
def test_any_project_file_is_an_error_in_a_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pyproject\.toml: ") as raised:
        load(project(tmp_path, f"[tool.whygrad]\n{text}\n"))
    assert len(str(raised.value)) < 1000

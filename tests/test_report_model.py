"""What the page needs of a run: paths, rounds and the touched source, built from traces and stored."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import whygrad
from building import Building, no_grad, site
from whygrad.finding import Finding
from whygrad.report.build import build
from whygrad.report.chaining import LONGEST
from whygrad.report.chains import Chain
from whygrad.report.json import ReportError, dumps, load
from whygrad.report.model import Report
from whygrad.trace import Kind


def stored(report: Report, file: Path) -> Report:
    file.write_text(dumps(report), encoding="utf-8")
    return load(file)


def chain(report: Report, parameter: str) -> Chain:
    (found,) = [c for c in report.chains if c.parameter == parameter]
    return found


def test_gradient_that_arrives_shows_every_operation_on_its_way() -> None:
    b = Building()
    weight = b.parameter("net.weight")
    loss = b.op("mean", b.op("relu", b.linear(weight, line=5), line=6), line=7)
    optimizer = b.optimizer("opt", weight)
    b.update(loss, optimizer)
    found = chain(build(b.trace, []), "net.weight")
    assert [s.name for s in found.stops] == ["net.weight", "linear", "relu", "mean"]
    assert found.gets_to == 0
    assert next(s.role for s in found.stops) == "parameter"
    assert [s.role for s in found.stops][-1] == "loss"


def test_a_cut_that_a_finding_names_is_told_from_one_that_is_meant() -> None:
    b = Building()
    online, target = b.parameter("net.weight"), b.parameter("target.weight", requires_grad=False)
    output = b.linear(online, line=5)
    copied = b.op("tensor", output, line=6, kind=Kind.COPY)
    constant = b.linear(target, line=7, region=no_grad(7))
    loss = b.op("mse_loss", copied, constant, line=8)
    optimizer = b.optimizer("opt", online)
    b.update(loss, optimizer)
    b.update(loss, optimizer)
    cause = Finding("WG101", "rewrapped-tensor", "error", "net is not learning", site(6), "the graph ends here")
    report = build(b.trace, [cause])
    cut, meant = chain(report, "net.weight"), chain(report, "target.weight")
    assert [(s.name, s.code, s.why) for s in cut.stops if s.role == "cut"] == [
        ("tensor", "WG101", "the graph ends here")
    ]
    assert cut.stops[cut.gets_to].name == "mse_loss"
    assert [(s.name, s.why) for s in meant.stops if s.role == "meant"] == [("linear", "computed under no_grad, line 7")]
    assert not [s for s in meant.stops if s.role == "cut"]


def test_a_leak_gets_a_path_of_its_own() -> None:
    b = Building()
    weight = b.parameter("net.weight")
    prediction = b.linear(weight, line=5)
    target = b.op("add", b.op("mul", b.linear(weight, line=6), line=7), line=8)
    loss = b.op("mse_loss", prediction, target, line=9)
    optimizer = b.optimizer("opt", weight)
    b.update(loss, optimizer)
    leak = Finding("WG201", "attached-target", "error", "the target moves", site(8), "still attached")
    found = [c for c in build(b.trace, [leak]).chains if c.parameter == "net.weight"]
    assert [c.code for c in found] == ["", "WG201"]
    assert [s.name for s in found[1].stops] == ["net.weight", "linear", "mul", "add", "mse_loss"]
    assert [s.role for s in found[1].stops] == ["parameter", "", "", "leak", "loss"]


def test_a_long_chain_is_folded_and_says_how_much_is_left_out() -> None:
    b = Building()
    weight = b.parameter("net.weight")
    here = b.linear(weight, line=5)
    for _ in range(200):
        here = b.op("tanh", here, line=6)
    b.update(here, b.optimizer("opt", weight))
    stops = chain(build(b.trace, []), "net.weight").stops
    assert len(stops) <= LONGEST + 1
    (gap,) = [s for s in stops if s.role == "folded"]
    assert int(gap.name.split()[0]) + len(stops) - 1 == 202


def test_rounds_keep_the_order_and_say_what_finds_nothing() -> None:
    b = Building()
    weight = b.parameter("net.weight")
    optimizer = b.optimizer("opt", weight)
    loss = b.linear(weight, line=5)
    for _ in range(3):
        b.update(loss, optimizer)
    b.update(loss, optimizer, deposits=frozenset())
    found = build(b.trace, []).rounds
    assert sum(r.seen for r in found) == 4
    first = found[0]
    assert [(e.kind, e.note, e.wrong) for e in first.events] == [
        ("backward", "reaches 1 parameter", False),
        ("step", "finds 1 of 1 gradient", False),
    ]
    (starved,) = [r for r in found if r.events[-1].wrong]
    assert starved.events[-1].note == "finds 0 of 1 gradient"


def test_a_row_says_whom_a_target_follows_and_what_is_frozen() -> None:
    """The copy is made parameter by parameter, and the network was frozen after it had been built."""
    online, follower = nn.Linear(3, 4), nn.Linear(3, 4)
    trunk = nn.Linear(5, 3).requires_grad_(False)
    learner = torch.optim.SGD(online.parameters(), lr=0.1)
    with whygrad.watch() as watching:
        for _ in range(6):
            state = trunk(torch.randn(8, 5))
            with torch.no_grad():
                wanted = torch.randn(8) + 0.5 * follower(state).amax(1)
            error = (online(state)[:, 0] - wanted).square().mean()
            learner.zero_grad()
            error.backward()
            learner.step()
            for mine, theirs in zip(follower.parameters(), online.parameters(), strict=True):
                mine.data.mul_(0.9).add_(0.1 * theirs.data)
    (row,) = watching.report.losses
    assert row.not_reached["follower"].startswith("copied from online :")
    assert row.not_reached["trunk"] == "frozen"


def train() -> None:
    q_net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(q_net)
    optimizer = torch.optim.Adam(q_net.parameters())
    for _ in range(6):
        with torch.no_grad():
            target = torch.randn(8) + 0.99 * target_net(torch.randn(8, 3)).max(1).values
        loss = F.smooth_l1_loss(q_net(torch.randn(8, 3))[:, 0], target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q_net.parameters(), 1.0)
        optimizer.step()
        target_net.load_state_dict(q_net.state_dict())


@pytest.fixture(scope="module")
def report() -> Report:
    with whygrad.watch() as watching:
        train()
    return watching.report


def test_a_real_run_shows_its_protocol(report: Report) -> None:
    assert len(report.rounds) == 1
    kinds = [e.kind for e in report.rounds[0].events]
    assert kinds == ["clear", "backward", "clip", "step", "copy"]
    assert report.rounds[0].events[-1].lanes == ("target_net",)
    assert report.traced_updates == 5
    assert report.seconds > 0


def test_the_margin_is_beside_the_lines_that_did_it(report: Report) -> None:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    listing = report.listings[__file__]
    marked = {lines[n - 1].strip().split("(")[0]: set(kinds) for n, kinds in listing.marks.items()}
    assert marked["optimizer.zero_grad"] == {"clears"}
    assert marked["loss.backward"] == {"reaches"}
    assert marked["nn.utils.clip_grad_norm_"] == {"clips"}
    assert marked["optimizer.step"] == {"step"}
    assert marked["target_net.load_state_dict"] == {"copies"}
    assert marked["with torch.no_grad"] == {"cuts"}
    assert all(listing.lines[n] == lines[n - 1] for n in listing.lines)


def test_a_log_probability_of_a_choice_is_no_cut() -> None:
    policy = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(policy.parameters())
    with whygrad.watch() as watching:
        for _ in range(2):
            dist = torch.distributions.Categorical(logits=policy(torch.randn(8, 3)))
            greedy = dist.logits.argmax(-1)
            loss = -dist.log_prob(torch.randint(2, (8,))).mean() + greedy.float().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    marks = watching.report.listings[__file__].marks
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert {lines[n - 1].split("=")[0].strip() for n, kinds in marks.items() if "cuts" in kinds} == {"greedy"}


def test_it_all_survives_storage(report: Report, tmp_path: Path) -> None:
    again = stored(report, tmp_path / "report.json")
    assert again.chains == report.chains
    assert again.rounds == report.rounds
    assert again.listings == report.listings
    assert again.matrix == report.matrix
    assert again.to_dict() == report.to_dict()


def test_a_report_of_an_earlier_version_is_read_without_it(report: Report, tmp_path: Path) -> None:
    data = report.to_dict()
    for key in ("arguments", "python", "seconds", "traced_updates", "paths", "rounds", "listings"):
        del data[key]
    for row in data["matrix"]:
        del row["not_reached"]
    file = tmp_path / "old.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    again = load(file)
    assert (again.chains, again.rounds, again.listings) == ([], [], {})
    assert again.matrix[0].cells == report.matrix[0].cells


@pytest.mark.parametrize("damage", [("paths", {"stops": []}), ("rounds", [{"seen": 1}]), ("listings", {"a": []})])
def test_a_damaged_part_is_refused_in_a_sentence(damage: tuple[str, object], report: Report, tmp_path: Path) -> None:
    file = tmp_path / "damaged.json"
    file.write_text(json.dumps({**report.to_dict(), damage[0]: damage[1]}), encoding="utf-8")
    with pytest.raises(ReportError, match="is damaged"):
        load(file)

"""A NaN, planted in ten different ways, early or late, is traced to the line that made it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import whygrad
from whygrad.finding import Finding

LOOP = """\
import torch
import torch.nn.functional as F
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(70):
    bad = step == WHEN
    obs, weight = torch.randn(8, 4), torch.rand(8) + 0.5
    out = net(obs)
BODY
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PLANTED = {
    "division by zero": """\
    scale = torch.zeros(8) if bad else weight
    loss = (out[:, 0] / scale).pow(2).mean()  # here""",
    "log of an underflowed probability": """\
    p = torch.softmax(out * (1e6 if bad else 1.0), -1)
    loss = -p.log()[:, 0].mean()  # here""",
    "square root of a negative number": """\
    inside = out.pow(2).sum(-1) - (100.0 if bad else -1.0)
    loss = inside.sqrt().mean()  # here""",
    "overflowing exponential": """\
    big = out[:, 0].abs() * (1e5 if bad else 1.0)
    ratio = big.exp()  # here
    loss = (ratio * weight).mean()""",
    "mean of nothing": """\
    chosen = out[:, 0][weight > (9.0 if bad else 0.0)]
    loss = chosen.pow(2).mean()  # here""",
    "empty mask": """\
    mask = torch.zeros(8) if bad else torch.ones(8)
    error = out[:, 0].pow(2)
    loss = (error * mask).sum() / mask.sum()  # here""",
    "action at its bound": """\
    action = torch.tanh(out[:, 0] * (1e4 if bad else 1.0))
    loss = torch.log(1 - action**2).mean()  # here""",
    "standard deviation of one sample": """\
    part = out[:1, 0] if bad else out[:, 0]
    spread = part.std()  # here
    loss = (part / spread).pow(2).mean()""",
}

BACKWARD = {
    "root at zero": """\
    gap = (out[:, 0] - out[:, 0].detach()) if bad else out[:, 0].abs() + 1.0
    loss = gap.sqrt().sum()  # here""",
    "hidden by where": """\
    scale = torch.zeros(8) if bad else weight
    risky = out[:, 0] / scale  # here
    loss = torch.where(scale > 0, risky, torch.zeros(8)).mean() + out[:, 1].mean()""",
    "angle between parallel vectors": """\
    cosine = torch.ones(8) + out[:, 0] * 0.0 if bad else torch.tanh(out[:, 0])
    loss = torch.acos(cosine).sum()  # here""",
    "fractional power of zero": """\
    gap = out[:, 0] * 0.0 if bad else out[:, 0].abs() + 1.0
    loss = (gap**0.3).sum()  # here""",
}


def found(body: str, when: int, folder: Path, trace: str = "auto") -> tuple[list[tuple[str, int]], int]:
    code = LOOP.replace("WHEN", str(when)).replace("BODY", body)
    file = folder / "train.py"
    file.write_text(code, encoding="utf-8")
    with whygrad.watch(trace=trace) as watching:
        exec(compile(code, str(file), "exec"), {"__name__": "__main__"})
    marked = next(n for n, line in enumerate(code.splitlines(), 1) if line.endswith("# here"))
    return [(f.code, f.site.line if f.site is not None else 0) for f in watching.report.loud], marked


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("when", [1, 50])
def test_forward(name: str, when: int, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    said, line = found(PLANTED[name], when, tmp_path)
    assert [place for _, place in said] == [line], said
    assert said[0][0] in ("WG404", "WG408", "WG505")


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    said, line = found(BACKWARD[name], 1, tmp_path)
    assert [place for _, place in said] == [line], said


@pytest.mark.parametrize("name", BACKWARD)
def test_backward_late_is_noticed_and_found_when_all_is_traced(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    said, _ = found(BACKWARD[name], 50, tmp_path)
    assert [code for code, _ in said] == ["WG505"]
    said, line = found(BACKWARD[name], 50, tmp_path, trace="always")
    assert [place for _, place in said] == [line], said


@pytest.mark.parametrize("name", [*PLANTED, *BACKWARD])
def test_healthy(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    said, _ = found((PLANTED | BACKWARD)[name], -1, tmp_path)
    assert [code for code, _ in said if code in ("WG404", "WG408", "WG505")] == []


LATE = """\
import torch, copy
torch.manual_seed(0)
critic = torch.nn.Linear(3, 1)
sgd = torch.optim.SGD(critic.parameters(), lr=0.02)
for turn in range(120):
    state = torch.randn(6, 3)
    if turn == WHEN:
        state[2, 1] = float("inf")
    error = (critic(state) - state[:, :1]) ** 2
    loss = error.mean()
    sgd.zero_grad()
    loss.backward()
    if SKIP and not torch.isfinite(loss):
        continue
    sgd.step()
    if turn == 20:
        saved = copy.deepcopy(critic.state_dict())
    if turn == RELOAD:
        critic.load_state_dict(saved)
"""


def watched(when: int, skip: bool, reload: int = -1, body: str = LATE) -> list[Finding]:
    torch.set_num_threads(1)
    code = body.replace("WHEN", str(when)).replace("SKIP", str(skip)).replace("RELOAD", str(reload))
    with whygrad.watch() as watching:
        exec(compile(code, "loop.py", "exec"), {"__name__": "__main__"})
    return [f for f in watching.report.findings if f.code in ("WG404", "WG408", "WG505")]


@pytest.mark.parametrize("when", [2, 33])
def test_a_loss_that_the_script_skips_has_ruined_nothing(when: int) -> None:
    (found,) = watched(when, skip=True)
    assert found.severity == "note"
    assert "finite" in found.message
    assert "become" not in found.message


@pytest.mark.parametrize("when", [2, 33])
def test_one_that_is_used_has(when: int) -> None:
    (found,) = watched(when, skip=False)
    assert found.severity == "error"
    assert "pow" not in found.here  # A square has a derivative everywhere.


def test_weights_that_were_loaded_again_are_finite_again() -> None:
    (found,) = watched(33, skip=False, reload=60)
    assert found.severity == "error"
    assert "had become NaN or infinite by update 34" in found.message
    assert "finite again from update 62 on" in found.seen


def test_an_operation_that_only_the_failing_loss_has_is_named() -> None:
    once = LATE.replace('state[2, 1] = float("inf")', "pass").replace(
        "    sgd.zero_grad()", "    if turn == WHEN:\n        loss = loss / 0.0\n    sgd.zero_grad()"
    )
    (found,) = watched(33, skip=False, body=once)
    assert found.severity == "error"
    assert "a div that no traced loss of this line had" in found.here

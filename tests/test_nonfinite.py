"""A NaN, planted in ten different ways, early or late, is traced to the line that made it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import whygrad

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

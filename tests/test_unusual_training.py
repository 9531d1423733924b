"""Training in unusual ways that is healthy, and faults of which every word must be true."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest
import torch

import whygrad
from whygrad.report import words
from whygrad.report.model import Report

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
"""
FIT = """\
loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
"""


def run(folder: Path, script: str) -> Report:
    file = folder / "train.py"
    file.write_text(HEAD + dedent(script), encoding="utf-8")
    with whygrad.watch() as watching:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "__main__"})
    return watching.report


def loop(times: int, before: str = "", after: str = "", fit: str = FIT) -> str:
    body = dedent(before) + fit + dedent(after)
    return f"for i in range({times}):\n{indent(body, '    ')}"


HEALTHY = {
    "a spectrum is no choice": """
        z = nn.Parameter(torch.randn(4, 4, dtype=torch.cfloat))
        opt = torch.optim.Adam([z], 1e-2)
        for i in range(30):
            loss = z.abs().pow(2).mean() + torch.fft.rfft(z.real).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    "a layer that goes by another name": dedent("""
        old = nn.Linear(4, 8)
        net = nn.Sequential(old, nn.Tanh(), nn.Linear(8, 2))
        opt = torch.optim.Adam(net.parameters(), 1e-2)
        """)
    + loop(30),
    "a parameter replaced in its group": "opt = torch.optim.SGD(net.parameters(), 0.01)\n"
    + loop(
        60,
        after="""
        if i == 25:
            net.weight = nn.Parameter(net.weight.detach() * 1)
            opt.param_groups[0]["params"][0] = net.weight
        """,
    ),
    "a line search that has arrived": """
        opt = torch.optim.LBFGS(net.parameters(), max_iter=4)
        for i in range(30):
            x = torch.randn(32, 4)

            def closure():
                opt.zero_grad()
                loss = (net(x) - x[:, :2]).pow(2).mean()
                loss.backward()
                return loss

            opt.step(closure)
        """,
    "gradients by torch.autograd.grad": """
        params = list(net.parameters())
        for i in range(60):
            grads = torch.autograd.grad((net(torch.randn(8, 4)) - 1).pow(2).mean(), params)
            for p, g in zip(params, grads):
                p.data = p.data - 1e-2 * g
        """,
}


@pytest.mark.parametrize("script", HEALTHY.values(), ids=HEALTHY)
def test_it_is_healthy_and_every_parameter_counts(script: str, tmp_path: Path) -> None:
    report = run(tmp_path, script)
    assert (report.verdict, [f.message for f in report.findings]) == ("healthy", [])
    held = [p for p in report.parameters if p.held_by or p.trained]
    assert held
    assert all(p.trained for p in held)
    assert "0 of 0" not in words.watched(report)


def test_weights_are_swapped_as_without_us(tmp_path: Path) -> None:
    script = "opt = torch.optim.SGD(net.parameters(), 0.01)\n" + loop(30)
    script += "torch.__future__.set_swap_module_params_on_conversion(True)\ndel loss\nnet.to(torch.float64)\n"
    try:
        assert run(tmp_path, script).verdict == "healthy"
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_writes_by_hand_count_beside_an_optimizer_that_never_steps(tmp_path: Path) -> None:
    by_hand = FIT.replace("opt.step()", "for p in net.parameters():\n    p.data.sub_(1e-2 * p.grad)")
    report = run(tmp_path, "opt = torch.optim.SGD(net.parameters(), 1e-3)\n" + loop(40, fit=by_hand))
    assert report.verdict != "incomplete"
    assert all(p.trained for p in report.parameters)


@pytest.mark.parametrize(
    "cut", ["torch.tensor(loss.item(), requires_grad=True)", "loss.detach().requires_grad_()"], ids=["copy", "flag"]
)
def test_a_loss_that_becomes_another_one_is_dated(cut: str, tmp_path: Path) -> None:
    fit = FIT.replace("opt.zero_grad()", f"if i < 60:\n    loss = {cut}\nopt.zero_grad()")
    report = run(tmp_path, "opt = torch.optim.Adam(net.parameters())\n" + loop(300, fit=fit))
    (finding,) = [f for f in report.findings if f.loud]
    assert "last seen at update 41 (at update 62 no more)" in finding.message
    assert "none of its" not in finding.message


@pytest.mark.parametrize("updates", [20, 200])
def test_a_fault_of_every_update_has_no_end(updates: int, tmp_path: Path) -> None:
    chunks = "for x in torch.randn(64, 4).chunk(4):\n    opt.zero_grad()\n    (net(x).pow(2).mean() / 4).backward()\n"
    script = "opt = torch.optim.SGD(net.parameters(), 1e-3)\n" + loop(updates, fit=chunks + "opt.step()\n")
    (finding,) = [f for f in run(tmp_path, script).findings if f.loud]
    assert finding.code == "WG303"
    assert "no more" not in finding.message + finding.seen


def test_what_is_summed_is_counted_as_far_as_it_was_seen(tmp_path: Path) -> None:
    fit = FIT.replace("opt.zero_grad()", "if i < 30:\n    opt.zero_grad()")
    report = run(tmp_path, "opt = torch.optim.SGD(net.parameters(), 1e-5)\n" + loop(200, fit=fit))
    (finding,) = [f for f in report.findings if f.loud]
    assert "sums at least" in finding.here


def test_a_closure_is_used_by_its_own_optimizer_alone(tmp_path: Path) -> None:
    script = """
        policy = nn.Linear(4, 3)
        line, adam = torch.optim.LBFGS(net.parameters(), max_iter=4), torch.optim.Adam(policy.parameters())
        for i in range(30):
            s = torch.randn(32, 4)
            with torch.no_grad():
                target = s[:, :2].sin() + policy(s).argmax(1, keepdim=True)

            def closure():
                line.zero_grad()
                fit = (net(s) - target).pow(2).mean()
                fit.backward()
                return fit

            line.step(closure)
            loss = -(policy(s).log_softmax(-1)[:, 0] * s[:, 0]).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
        """
    rows = {row.name: row.consumed_by for row in run(tmp_path, script).losses}
    assert [name.split()[0] for name in rows["fit"]] == ["line.step"]


def test_who_joined_while_nobody_looked_is_not_called_untrained(tmp_path: Path) -> None:
    script = """
        opt = torch.optim.Adam(net.parameters())
        heads = nn.ModuleList()
        for i in range(600):
            if i % 12 == 0:
                heads.append(nn.Linear(2, 1))
                opt.add_param_group({"params": heads[-1].parameters()})
            loss = (heads[-1](net(torch.randn(8, 4))) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """
    report = run(tmp_path, script)
    assert [f.message for f in report.findings if f.loud] == []
    assert report.verdict == "incomplete"
    assert "joined their optimizer between two looks" in report.gaps[0].what


def test_an_optimizer_that_steps_another_one_does_so_in_its_place(tmp_path: Path) -> None:
    script = """
        class Outer(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})
                self.inner = torch.optim.SGD(self.param_groups[0]["params"], lr=0.01)

            def step(self, closure=None):
                self.inner.step()

        opt = Outer(net.parameters())
        """
    report = run(tmp_path, dedent(script) + loop(10))
    assert (report.verdict, report.findings) == ("healthy", [])


REINFORCE = """
opt = torch.optim.Adam(net.parameters())


def lost(gain):
    return gain.neg()


for i in range(30):
    dist = torch.distributions.Categorical(logits=net(torch.randn(16, 4)))
    action = dist.sample()
    returns = 1.0 + torch.rand(16)
    log_prob = dist.log_prob(action)
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "loss",
    [
        "(-returns * log_prob).mean()",
        "sum(-g * p for g, p in zip(returns, log_prob))",
        "(log_prob * (returns * -1.0)).sum()",
        "(lost(returns) * log_prob).mean()",
        "-(returns * log_prob).mean()",
    ],
)
def test_the_minus_may_stand_on_any_factor(loss: str, tmp_path: Path) -> None:
    assert [f.message for f in run(tmp_path, REINFORCE.format(loss=loss)).findings if f.loud] == []


@pytest.mark.parametrize("loss", ["(returns * log_prob).mean()", "-(-returns * log_prob).mean()"])
def test_two_of_them_are_none(loss: str, tmp_path: Path) -> None:
    (finding,) = [f for f in run(tmp_path, REINFORCE.format(loss=loss)).findings if f.loud]
    assert finding.code == "WG409"


@pytest.mark.parametrize("moved", ['.to("cpu")', ".float()", ""])
def test_a_module_that_was_moved_is_not_trained_by_that(moved: str, tmp_path: Path) -> None:
    script = f"""
        critic = nn.Linear(4, 1){moved}
        opt = torch.optim.Adam(net.parameters())
        for i in range(40):
            s, reward = torch.randn(16, 4), torch.randn(16)
            dist = torch.distributions.Categorical(logits=net(s))
            value = critic(s).squeeze(-1)
            policy_loss = -(dist.log_prob(dist.sample()) * (reward - value).detach()).mean()
            loss = policy_loss + 0.5 * (value - reward).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        """
    (finding,) = [f for f in run(tmp_path, script).findings if f.loud]
    assert (finding.code, finding.parameters) == ("WG109", ["critic.weight", "critic.bias"])

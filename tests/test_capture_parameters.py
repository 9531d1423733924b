"""Parameters that come late, are shared, lie in plain lists or have no shape yet."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.session import active


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()
    torch.set_grad_enabled(True)


def test_parameters_added_late() -> None:
    torso, heads = nn.Linear(4, 4), [nn.Linear(4, 1)]
    optimizer = torch.optim.SGD([*torso.parameters(), *heads[0].parameters()], lr=0.1)
    with whygrad.watch() as watching:
        for count in range(14):
            if count == 6:
                heads.append(nn.Linear(4, 1))
                optimizer.add_param_group({"params": heads[-1].parameters()})
            features = torso(torch.randn(8, 4))
            loss = torch.stack([head(features).pow(2).mean() for head in heads]).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.findings == []
    names = {row.name for row in watching.report.parameters}
    assert names == {"torso.weight", "torso.bias"} | {f"heads[{i}].{n}" for i in (0, 1) for n in ("weight", "bias")}
    assert all(row.consumed_by == ["optimizer"] for row in watching.report.parameters)


def test_tied_parameters() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(6, 3)
            self.out = nn.Linear(3, 6, bias=False)
            self.out.weight = self.words.weight

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.out(self.words(x))
            return out

    tied = Tied()
    optimizer = torch.optim.Adam(tied.parameters())
    with whygrad.watch() as watching:
        for _ in range(7):
            x = torch.randint(0, 6, (5,))
            loss = nn.functional.cross_entropy(tied(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.findings == []
    assert [row.name for row in watching.report.parameters] in (["tied.out.weight"], ["tied.words.weight"])


def test_modules_in_a_plain_list() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(2)]
            self.head = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x).tanh()
            out: Tensor = self.head(x)
            return out

    stack = Stack()
    optimizer = torch.optim.Adam(stack.parameters())
    with whygrad.watch() as watching:
        for _ in range(4):
            loss = stack(torch.randn(8, 4)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (finding,) = watching.report.loud
    assert finding.code == "WG109"
    assert sorted(finding.parameters) == [f"stack.layers[{i}].{n}" for i in (0, 1) for n in ("bias", "weight")]


@pytest.mark.parametrize("dry_run", [True, False])
def test_lazy_modules(dry_run: bool) -> None:
    with whygrad.watch() as watching:
        net = nn.Sequential(nn.LazyLinear(5), nn.Tanh(), nn.LazyLinear(1))
        if dry_run:
            net(torch.randn(2, 7))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(4):
            loss = net(torch.randn(8, 7)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.limits == []
    assert watching.report.findings == []
    assert {row.name: row.shape for row in watching.report.parameters}["net.0.weight"] == [5, 7]

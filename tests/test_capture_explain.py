"""`whygrad.explain` answers before and after backward, inside and outside a watch."""

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


class Pair(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.cut = cut
        self.torso, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        features = self.torso(x)
        out: Tensor = self.head(features.detach() if self.cut else features)
        return out


def loss_of(model: nn.Module) -> Tensor:
    out: Tensor = model(torch.randn(8, 4))
    return out.pow(2).mean()


ALL = ("torso.weight", "torso.bias", "head.weight", "head.bias")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("watching", [False, True])
def test_healthy_loss(after: bool, watching: bool) -> None:
    model = Pair(cut=False)
    if watching:
        whygrad.start()
    loss = loss_of(model)
    if after:
        loss.backward()
    said = whygrad.explain(loss, model)
    assert said
    assert said.reached == ALL
    assert said.missing == {}
    assert str(said) == "gradient reaches 4 of 4 parameters"


@pytest.mark.parametrize("after", [False, True])
def test_cut_outside_a_watch(after: bool) -> None:
    model = Pair(cut=True)
    loss = loss_of(model)
    if after:
        loss.backward()
    said = whygrad.explain(loss, model)
    assert not said
    assert said.reached == ALL[2:]
    assert list(said.missing) == list(ALL[:2])
    assert all("whygrad.watch()" in reason for reason in said.missing.values())


@pytest.mark.parametrize("after", [False, True])
def test_cut_inside_a_watch_names_the_line(after: bool) -> None:
    model = Pair(cut=True)
    with whygrad.watch() as watching:
        loss = loss_of(model)
        if after:
            loss.backward()
        said = whygrad.explain(loss, model)
        later = whygrad.explain(loss_of(model), model)
    assert list(said.missing) == list(later.missing) == list(ALL[:2])
    assert all("features.detach()" in reason for reason in (*said.missing.values(), *later.missing.values()))
    assert watching.report.limits == []


def test_asking_does_not_change_the_training() -> None:
    def run(ask: bool) -> tuple[list[Tensor], list[str]]:
        torch.manual_seed(4)
        model = Pair(cut=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with whygrad.watch() as watching:
            for _ in range(4):
                loss = loss_of(model)
                if ask:
                    whygrad.explain(loss, model)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return [p.detach() for p in model.parameters()], [f.code for f in watching.report.loud]

    plain, asked = run(False), run(True)
    assert plain[1] == asked[1] == ["WG103"]
    assert all(torch.equal(a, b) for a, b in zip(plain[0], asked[0], strict=True))


def test_frozen_and_unused() -> None:
    model, other = Pair(cut=False), nn.Linear(2, 2)
    model.torso.requires_grad_(False)
    with whygrad.watch():
        loss = loss_of(model)
        frozen = whygrad.explain(loss, model)
        unused = whygrad.explain(loss, other)
    assert set(frozen.missing) == set(ALL[:2])
    assert all("frozen" in reason for reason in frozen.missing.values())
    assert unused.missing == dict.fromkeys(("weight", "bias"), "the loss does not depend on it")


def test_loss_without_a_graph() -> None:
    model = Pair(cut=False)
    with torch.no_grad():
        loss = loss_of(model)
    said = whygrad.explain(loss, model)
    assert not said
    assert not said.has_graph
    assert "no graph" in str(said)


def test_asked_again_and_again() -> None:
    model = Pair(cut=False)
    for _ in range(3):
        assert whygrad.explain(loss_of(model), model)


def test_bare_tensors_and_a_single_one() -> None:
    alpha, beta = torch.zeros(1, requires_grad=True), torch.zeros(2, requires_grad=True)
    loss = (alpha * 2.0).sum()
    assert whygrad.explain(loss, alpha)
    said = whygrad.explain(loss, [alpha, beta])
    assert said.reached == ("parameter 0 [1]",)
    assert list(said.missing) == ["parameter 1 [2]"]


def test_loss_is_the_parameter_itself() -> None:
    alpha = torch.zeros((), requires_grad=True)
    alpha.backward()
    assert alpha.grad is not None
    assert whygrad.explain(alpha, [alpha]).reached == ("parameter 0 []",)


def test_after_the_window_has_closed() -> None:
    model = Pair(cut=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with whygrad.watch():
        for _ in range(8):
            loss = loss_of(model)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        said = whygrad.explain(loss_of(model), model)
    assert said.reached == ALL[2:]
    assert not any("does not depend" in reason for reason in said.missing.values())

"""Parameters and optimizers carry the names that the user's code gives them."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.capture import search
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


class Agent:
    def __init__(self) -> None:
        self.q_net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
        self.optimizer = torch.optim.Adam(self.q_net.parameters())

    def update(self) -> None:
        update(self.q_net, self.optimizer)

    def train(self) -> None:
        for _ in range(3):
            loss = self.q_net(torch.randn(8, 4)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


GLOBAL_AGENT = Agent()
PAIR = ("weight", "bias")


def update(net: nn.Module, optimizer: Any) -> None:
    for _ in range(3):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def optimizer_of(modules: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam([p for module in modules for p in module.parameters()])


def names(work: Callable[[], object]) -> list[str]:
    """Names in a run whose outermost user frame is in this file: in a thread nobody else is on the stack."""

    def watched() -> list[str]:
        with whygrad.watch() as watching:
            work()
        assert watching.report.limits == []
        return sorted(row.name for row in watching.report.parameters)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(watched).result()


def test_local_variable() -> None:
    def work() -> None:
        policy = nn.Linear(4, 1)
        policy_optimizer = torch.optim.Adam(policy.parameters())
        for _ in range(3):
            loss = policy(torch.randn(8, 4)).pow(2).mean()
            policy_optimizer.zero_grad()
            loss.backward()
            policy_optimizer.step()

    assert names(work) == ["policy.bias", "policy.weight"]


def test_attribute_of_a_local_object() -> None:
    def work() -> None:
        agent = Agent()
        agent.train()

    assert names(work) == [f"agent.q_net.{i}.{n}" for i in (0, 2) for n in sorted(PAIR)]


def test_attribute_of_an_object_at_module_level() -> None:
    assert names(lambda: GLOBAL_AGENT.train()) == [f"GLOBAL_AGENT.q_net.{i}.{n}" for i in (0, 2) for n in sorted(PAIR)]


def test_object_that_only_self_holds() -> None:
    assert names(lambda: Agent().train()) == [f"q_net.{i}.{n}" for i in (0, 2) for n in sorted(PAIR)]


def test_helper_does_not_rename() -> None:
    def work() -> None:
        agent = Agent()
        agent.update()

    assert names(work) == [f"agent.q_net.{i}.{n}" for i in (0, 2) for n in sorted(PAIR)]


def test_helper_does_not_give_two_networks_one_name() -> None:
    def work() -> None:
        policy, value = nn.Linear(4, 1), nn.Linear(4, 1)
        update(policy, torch.optim.Adam(policy.parameters()))
        update(value, torch.optim.Adam(value.parameters()))

    assert names(work) == ["policy.bias", "policy.weight", "value.bias", "value.weight"]


def test_list_of_modules() -> None:
    def work() -> None:
        layers = [nn.Linear(4, 4), nn.Linear(4, 1)]
        optimizer = optimizer_of(layers)
        for _ in range(3):
            x = torch.randn(8, 4)
            for step in range(2):
                x = layers[step](x)
            optimizer.zero_grad()
            x.pow(2).mean().backward()
            optimizer.step()

    assert names(work) == [f"layers[{i}].{n}" for i in (0, 1) for n in sorted(PAIR)]


def test_dict_of_modules() -> None:
    def work() -> None:
        nets = {"actor": nn.Linear(4, 4), "critic": nn.Linear(4, 1)}
        optimizer = optimizer_of(nets.values())
        for _ in range(3):
            loss = nets["critic"](nets["actor"](torch.randn(8, 4))).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    assert names(work) == [f"nets['{net}'].{n}" for net in ("actor", "critic") for n in sorted(PAIR)]


def test_bare_tensor() -> None:
    def work() -> None:
        log_alpha = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.Adam([log_alpha])
        for _ in range(3):
            optimizer.zero_grad()
            (log_alpha.exp() * 2.0).sum().backward()
            optimizer.step()

    assert names(work) == ["log_alpha"]


def test_model_built_inside_a_function() -> None:
    def build() -> tuple[nn.Module, torch.optim.Optimizer]:
        inner = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1))
        return inner, torch.optim.Adam(inner.parameters())

    def work() -> None:
        value_net, value_optimizer = build()
        for _ in range(3):
            loss = value_net(torch.randn(8, 4)).pow(2).mean()
            value_optimizer.zero_grad()
            loss.backward()
            value_optimizer.step()

    assert names(work) == [f"value_net.{i}.{n}" for i in (0, 1) for n in sorted(PAIR)]


def test_optimizer_and_loss_by_their_names() -> None:
    critic = nn.Linear(4, 1)
    critic_optimizer = torch.optim.Adam(critic.parameters())
    with whygrad.watch() as watching:
        for _ in range(3):
            value_loss = critic(torch.randn(8, 4)).pow(2).mean()
            critic_optimizer.zero_grad()
            value_loss.backward()
            critic_optimizer.step()
    (row,) = watching.report.losses
    assert row.name == "value_loss"
    assert row.consumed_by[0].startswith("critic_optimizer.step")
    assert {tuple(p.consumed_by) for p in watching.report.parameters} == {("critic_optimizer",)}
    assert {tuple(p.reached_by) for p in watching.report.parameters} == {("value_loss",)}


def test_names_survive_a_variable_that_is_deleted() -> None:
    def loss_of(net: nn.Module) -> Tensor:
        return torch.as_tensor(net(torch.randn(8, 4))).pow(2).mean()

    def work() -> None:
        scorer = nn.Linear(4, 1)
        solver = torch.optim.Adam(scorer.parameters())
        for _ in range(3):
            solver.zero_grad()
            loss_of(scorer).backward()
            solver.step()
        del scorer, solver

    assert names(work) == ["scorer.bias", "scorer.weight"]


def test_a_container_that_changes_while_it_is_looked_at_is_looked_at_again() -> None:
    """What the collector finds in that moment may have been an entry of it."""

    class Changing(dict[str, int]):
        pass

    held = Changing(a=1, b=2)
    looks = [0]

    def items(value: dict[str, int]) -> Iterator[tuple[str, int]]:
        looks[0] += 1
        for entry in dict.items(value):
            if looks[0] < search.TRIES:
                value[f"new {looks[0]}"] = 0
            yield entry

    assert search._part(partial(items, held), 2, 8, last=False) == list(dict.items(held))
    looks[0] = -10
    assert search._part(partial(items, held), 2, 8, last=False) == []

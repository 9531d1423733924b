"""After a watch torch is as it was: every replaced attribute is the very object it was before."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizers

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


MODE = torch.autograd.grad_mode
OWNERS: list[Any] = [
    *(torch, torch.autograd, torch.autograd.Function, torch.autograd.Variable, torch.Tensor, nn.Parameter, nn.Module),
    *(MODE.no_grad, MODE.enable_grad, MODE.inference_mode, MODE.set_grad_enabled, torch.optim.Optimizer),
    *(nn.utils, torch.nn.utils.clip_grad, torch.distributions.Normal, nn.functional, torch.optim.SGD, torch.optim.Adam),
    threading.Thread,
]
"""Whole namespaces, so that a patch added later is noticed as well."""
STAYS = "__whygrad__"
"""By names that begin so exchanged instructions find their way; a thread may be in the middle of them at the end."""


def everything() -> dict[tuple[str, str], Any]:
    found = {(o.__name__, name): v for o in OWNERS for name, v in vars(o).items() if not name.startswith(STAYS)}
    found["hooks", "pre"] = list(optimizers._global_optimizer_pre_hooks)
    found["hooks", "post"] = list(optimizers._global_optimizer_post_hooks)
    found["warnings", "showwarning"] = warnings.showwarning
    found["modes", ""] = list(torch.overrides._get_current_function_mode_stack())
    found["modules", "forward"] = dict(torch.nn.modules.module._global_forward_hooks)
    found["modules", "pre"] = dict(torch.nn.modules.module._global_forward_pre_hooks)
    return found


def train(rounds: int = 3) -> None:
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(rounds):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def finished() -> None:
    with whygrad.watch():
        train()


def closed_before_the_end() -> None:
    with whygrad.watch(updates=1):
        train(6)


def traced_to_the_end() -> None:
    with whygrad.watch(trace="always"):
        train(6)


def not_traced() -> None:
    with whygrad.watch(trace="off"):
        train()


def fail(error: BaseException) -> None:
    with torch.enable_grad():
        train()
    raise error


def raised() -> None:
    with pytest.raises(ValueError, match="mine"), whygrad.watch():
        fail(ValueError("mine"))


def interrupted() -> None:
    with pytest.raises(KeyboardInterrupt), whygrad.watch(), torch.no_grad():
        fail(KeyboardInterrupt())


def stopped_inside_a_region() -> None:
    watching = whygrad.watch().start()
    with torch.no_grad(), torch.inference_mode(), torch.set_grad_enabled(True), torch.enable_grad():
        watching.stop()
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def started_inside_a_region() -> None:
    with torch.no_grad(), torch.enable_grad(), torch.inference_mode():
        watching = whygrad.watch().start()
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    watching.stop()


def stopped_twice() -> None:
    watching = whygrad.watch().start()
    train()
    assert watching.stop() is watching.stop()


def caught_warnings_around_the_end() -> None:
    watching = whygrad.watch().start()
    with warnings.catch_warnings(record=True):
        train()
        watching.stop()


def caught_warnings_around_the_closing_of_the_window() -> None:
    with whygrad.watch(updates=1), warnings.catch_warnings():
        train(4)


def empty() -> None:
    with whygrad.watch():
        pass


WAYS = [finished, closed_before_the_end, traced_to_the_end, not_traced, raised, interrupted, stopped_inside_a_region]
WAYS += [started_inside_a_region, stopped_twice, empty]
WAYS += [caught_warnings_around_the_end, caught_warnings_around_the_closing_of_the_window]


@pytest.mark.parametrize("way", WAYS)
def test_torch_is_as_it_was(way: Callable[[], None]) -> None:
    train()
    before = everything()
    way()
    after = everything()
    assert before.keys() == after.keys()
    assert [key for key in before if before[key] is not after[key] and before[key] != after[key]] == []
    assert torch.is_grad_enabled()


def test_replaced_things_still_work_afterwards() -> None:
    variable: Any = torch.autograd.Variable
    with whygrad.watch():
        inside = variable(torch.ones(2), requires_grad=True)
        train()
    outside = variable(torch.ones(2), requires_grad=True)
    assert inside.requires_grad
    assert outside.requires_grad
    assert isinstance(nn.Parameter(torch.ones(2)), nn.Parameter)
    assert copy.deepcopy(nn.Parameter(torch.ones(2))).requires_grad
    assert isinstance(outside, variable)


def test_things_taken_while_watching_still_work_afterwards() -> None:
    net = nn.Linear(4, 1)
    before = everything()
    with whygrad.watch() as watching:
        clip, from_numpy, backward, grad = (
            nn.utils.clip_grad_norm_,
            torch.from_numpy,
            torch.autograd.backward,
            torch.autograd.grad,
        )
        region = torch.no_grad()
        region.__enter__()
    assert not torch.is_grad_enabled()
    region.__exit__(None, None, None)
    assert torch.is_grad_enabled()
    loss = net(from_numpy(torch.ones(2, 4).numpy())).sum()
    backward(loss, retain_graph=True)
    assert torch.equal(grad(loss, net.weight)[0], torch.full((1, 4), 2.0))
    assert float(clip(net.parameters(), 1.0)) > 1.0
    after = everything()
    assert watching.capture is not None
    watching.capture.detach()  # Should the watching have come back to life: not for the tests that follow.
    assert [key for key in before if before[key] is not after[key] and before[key] != after[key]] == []


def test_replacements_look_like_the_originals() -> None:
    with whygrad.watch():
        assert torch.Tensor.backward.__name__ == "backward"
        assert torch.autograd.grad.__doc__
        assert nn.utils.clip_grad_norm_.__module__.startswith("torch.")
        assert torch.no_grad.__enter__.__qualname__ == "no_grad.__enter__"

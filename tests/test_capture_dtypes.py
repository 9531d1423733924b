"""Every operation, on values of every kind and form: what whygrad cannot follow ends nothing."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import whygrad

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.int64,
    torch.uint8,
    torch.bool,
)
SHAPES = ((), (1,), (0,), (3, 2))
TWO: tuple[Callable[..., Any], ...] = (
    torch.add,
    torch.sub,
    torch.mul,
    torch.div,
    torch.maximum,
    torch.minimum,
    torch.pow,
    torch.eq,
    torch.lt,
    torch.remainder,
    torch.floor_divide,
    torch.logical_and,
    torch.nn.functional.mse_loss,
    torch.nn.functional.smooth_l1_loss,
    torch.where,
    lambda a, b: torch.where(a > 0, a, b),
    lambda a, b: a.clone().add_(b),
    lambda a, b: a.clone().mul_(b),
    lambda a, b: b - a,
    lambda a, b: torch.cat([a.reshape(-1), b.reshape(-1)]),
    lambda a, b: a.clone().copy_(b),
)
ONE: tuple[Callable[..., Any], ...] = (
    torch.exp,
    torch.log,
    torch.sqrt,
    torch.abs,
    torch.neg,
    torch.tanh,
    torch.relu,
    torch.sigmoid,
    torch.sum,
    torch.mean,
    torch.std,
    torch.var,
    torch.max,
    torch.argmax,
    torch.sign,
    torch.round,
    torch.isnan,
    torch.cumsum,
    lambda a: torch.softmax(a, -1),
    lambda a: torch.log_softmax(a, -1),
    lambda a: torch.logsumexp(a, -1),
    lambda a: a.clamp(-1, 1),
    lambda a: a.clamp_min(0),
    lambda a: a.max(-1),
    lambda a: 1 + a,
    lambda a: 2 - a,
    lambda a: a / 3,
    lambda a: a.float(),
    lambda a: a.bool(),
    lambda a: a.tolist(),
    lambda a: a.numpy(),
    lambda a: a.item(),
    lambda a: a.view(-1),
    lambda a: a[..., None],
)


def values(dtype: torch.dtype, shape: tuple[int, ...]) -> Tensor:
    made = torch.ones(shape) * 1.5
    return made.to(dtype)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_no_operation_ends_the_watching(dtype: torch.dtype, grad: bool) -> None:
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    done = 0
    with whygrad.watch() as watching:
        for shape in SHAPES:
            one = values(dtype, shape)
            with contextlib.suppress(RuntimeError):
                one = one.requires_grad_(grad)
            others = [values(other, shape) for other in DTYPES]
            calls = itertools.chain(
                ((call, (one,)) for call in ONE),
                ((call, pair) for call in TWO for other in others for pair in ((one, other), (other, one))),
            )
            for call, operands in calls:
                with contextlib.suppress(RuntimeError, TypeError, IndexError, ValueError):
                    call(*operands)  # What torch refuses is the script's affair.
                    done += 1
        for _ in range(3):
            loss = net(torch.randn(4, 2)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert done > 500
    assert watching.report.verdict == "healthy", watching.report.gaps

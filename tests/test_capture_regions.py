"""The line that switched gradient off: the right one, however the regions nest."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

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


Forward = Callable[[nn.Linear, Tensor], Tensor]


def marked(name: str) -> int:
    rows = Path(__file__).read_text(encoding="utf-8").splitlines()
    (line,) = [number for number, row in enumerate(rows, 1) if row.endswith(f"# here: {name}")]
    return line


def blamed(forward: Forward) -> list[tuple[str, int]]:
    """Codes and lines of what is found when the features of a network come from this forward."""
    net, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    with whygrad.watch() as watching:
        for _ in range(3):
            loss = head(forward(net, torch.randn(8, 4))).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert torch.is_grad_enabled()
    assert watching.report.limits == []
    return [(f.code, f.site.line) for f in watching.report.loud if f.site is not None]


def plain(net: nn.Linear, x: Tensor) -> Tensor:
    with torch.no_grad():  # here: plain
        return torch.as_tensor(net(x))


def inner(net: nn.Linear, x: Tensor) -> Tensor:
    with torch.enable_grad():
        x = x + 1.0
        with torch.no_grad():  # here: inner
            return torch.as_tensor(net(x))


@torch.no_grad()
def decorated_caller(net: nn.Linear, x: Tensor) -> Tensor:
    return inner(net, x)


@torch.no_grad()  # here: decorated
def decorated(net: nn.Linear, x: Tensor) -> Tensor:
    return helper(net, x)


@torch.no_grad  # type: ignore[call-arg]  # here: bare decorator
def bare(net: nn.Linear, x: Tensor) -> Tensor:
    return helper(net, x)


def helper(net: nn.Linear, x: Tensor) -> Tensor:
    return torch.as_tensor(net(x))


@torch.set_grad_enabled(False)  # here: decorated switch
def switched(net: nn.Linear, x: Tensor) -> Tensor:
    return torch.as_tensor(net(x))


@torch.inference_mode()  # here: decorated inference
def inferred(net: nn.Linear, x: Tensor) -> Tensor:
    return torch.as_tensor(net(x))


def inference(net: nn.Linear, x: Tensor) -> Tensor:
    return inferred(net, x).clone()


@torch.no_grad()  # here: generator
def features(net: nn.Linear, x: Tensor) -> Iterator[Tensor]:
    yield torch.as_tensor(net(x))
    yield torch.as_tensor(net(x + 1.0))


def generator(net: nn.Linear, x: Tensor) -> Tensor:
    return sum(features(net, x), torch.zeros(8, 4))


def leaking(net: nn.Linear, x: Tensor) -> Tensor:
    def rows() -> Iterator[Tensor]:
        with torch.no_grad():  # here: leaking generator
            yield x

    return torch.cat([torch.as_tensor(net(row)) for row in rows()])


def switch(net: nn.Linear, x: Tensor) -> Tensor:
    torch.set_grad_enabled(False)  # here: switch
    out = net(x)
    torch.set_grad_enabled(True)
    return torch.as_tensor(out)


def switch_block(net: nn.Linear, x: Tensor) -> Tensor:
    with torch.set_grad_enabled(False):  # here: switch block
        return torch.as_tensor(net(x))


@contextlib.contextmanager
def acting() -> Iterator[None]:
    with torch.no_grad():  # here: context manager
        yield


def managed(net: nn.Linear, x: Tensor) -> Tensor:
    with acting():
        return torch.as_tensor(net(x))


def stacked(net: nn.Linear, x: Tensor) -> Tensor:
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())  # here: exit stack
        return torch.as_tensor(net(x))


def after_an_error(net: nn.Linear, x: Tensor) -> Tensor:
    with contextlib.suppress(ValueError), torch.no_grad():
        net(x)
        raise ValueError
    with torch.no_grad():  # here: after an error
        return torch.as_tensor(net(x))


def reused(net: nn.Linear, x: Tensor) -> Tensor:
    off = torch.no_grad()
    with off:
        net(x)
    with torch.enable_grad(), off:  # here: reused
        return torch.as_tensor(net(x))


WRONG: dict[str, Forward] = {
    "plain": plain,
    "inner": decorated_caller,
    "decorated": decorated,
    "bare decorator": bare,  # type: ignore[dict-item]
    "decorated switch": switched,
    "decorated inference": inference,
    "generator": generator,
    "leaking generator": leaking,
    "switch": switch,
    "switch block": switch_block,
    "context manager": managed,
    "exit stack": stacked,
    "after an error": after_an_error,
    "reused": reused,
}


@pytest.mark.parametrize("name", WRONG)
def test_line_of_the_region(name: str) -> None:
    assert blamed(WRONG[name]) == [("WG104", marked(name))]


@torch.no_grad()
def switched_on_again(net: nn.Linear, x: Tensor) -> Tensor:
    with torch.enable_grad():
        return torch.as_tensor(net(x))


def left_by_an_error(net: nn.Linear, x: Tensor) -> Tensor:
    with contextlib.suppress(ValueError), torch.inference_mode():
        raise ValueError
    return torch.as_tensor(net(x))


def left_by_break(net: nn.Linear, x: Tensor) -> Tensor:
    for _ in features(net, x):
        break
    return torch.as_tensor(net(x))


def switched_back(net: nn.Linear, x: Tensor) -> Tensor:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    net(x)
    torch.set_grad_enabled(before)
    return torch.as_tensor(net(x))


@pytest.mark.parametrize("forward", [switched_on_again, left_by_an_error, left_by_break, switched_back])
def test_region_that_is_over_is_not_blamed(forward: Forward) -> None:
    assert blamed(forward) == []


def test_error_leaves_no_region_behind() -> None:
    with whygrad.watch() as watching:
        with pytest.raises(ValueError, match="on purpose"):
            decorated_error()
        assert watching.capture is not None
        assert watching.capture.regions._switches.stack == []
    assert torch.is_grad_enabled()


@torch.no_grad()
def decorated_error() -> None:
    with torch.enable_grad(), torch.inference_mode():
        raise ValueError("on purpose")

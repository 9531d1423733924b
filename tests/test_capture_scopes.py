"""Names are found in other modules, and whatever else lies in the variables."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

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


class Agent:
    def __init__(self) -> None:
        self.q_net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
        self.optimizer = torch.optim.Adam(self.q_net.parameters())

    def train(self) -> None:
        for _ in range(3):
            loss = self.q_net(torch.randn(8, 4)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


PAIR = ("weight", "bias")


def names(work: Callable[[], object]) -> list[str]:
    """Names in a run whose outermost user frame is in this file: in a thread nobody else is on the stack."""

    def watched() -> list[str]:
        with whygrad.watch() as watching:
            work()
        assert watching.report.limits == []
        return sorted(row.name for row in watching.report.parameters)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(watched).result()


MODULE = """
import torch

ensemble = {"left": torch.nn.Linear(4, 1)}
solver = torch.optim.Adam(ensemble["left"].parameters())


def train():
    for _ in range(3):
        loss = ensemble["left"](torch.randn(8, 4)).pow(2).mean()
        solver.zero_grad()
        loss.backward()
        solver.step()
"""


def test_global_of_an_imported_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trainer_of_names.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("trainer_of_names")
    assert names(module.train) == ["ensemble['left'].bias", "ensemble['left'].weight"]


def test_hostile_variables_do_not_stop_the_watching() -> None:
    class Unsliced(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            if not isinstance(index, int):
                raise TypeError("one at a time")
            return super().__getitem__(index)

    class Unlisted(dict[str, Any]):
        def items(self) -> Any:
            raise OSError("the file behind it is gone")

    class Unnamed:
        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            raise RuntimeError("not initialised")

    def work() -> None:
        memory, cache, proxy = Unsliced([1, 2]), Unlisted(), Unnamed()
        agent = Agent()
        agent.train()
        assert len(memory) + len(cache) == 2
        assert id(proxy)

    assert names(work) == [f"agent.q_net.{i}.{n}" for i in (0, 2) for n in sorted(PAIR)]

"""Updates as CUDA graphs: what is captured and when, that without a GPU nothing changes, and on one not the numbers."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from whygrad.agents import ppo, sac
from whygrad.agents.fast import graphs
from whygrad.agents.fast.graphs import WARMING, Graphed, graphed
from whygrad.agents.policy import Result


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


def summed(pair: Pair) -> Tensor:
    return pair.first + pair.second


def weights(result: Result) -> dict[str, Tensor]:
    assert isinstance(result.policy.network, nn.Module)
    return result.policy.network.state_dict()


def test_without_a_gpu_the_function_stays_what_it_is() -> None:
    assert graphed(summed, "cpu", wanted=True) is summed
    assert graphed(summed, "cuda", wanted=False) is summed


@pytest.mark.parametrize(("agent", "env"), [(ppo, "CartPole-v1"), (sac, "Pendulum-v1")])
def test_trainings_without_a_gpu_are_the_same(agent: Any, env: str) -> None:
    small = {"ppo": {"rollout": 64, "minibatch": 48, "epochs": 2}, "sac": {"learning_starts": 40, "batch": 16}}
    given = {"steps": 128, "seed": 5, "hidden": (8,), **small[agent.__name__.rpartition(".")[2]]}
    plain, wanted = (weights(agent.train(env, **given, cuda_graph=graph)) for graph in (False, True))
    assert plain.keys() == wanted.keys()
    assert all(torch.equal(plain[name], wanted[name]) for name in plain)


def test_a_graph_keeps_its_learning_rate() -> None:
    with pytest.raises(ValueError, match="cuda_graph and anneal exclude each other"):
        ppo.train("CartPole-v1", cuda_graph=True, anneal=True)


class Replayed:
    """Stands for a captured graph: runs the function again and writes over the first result."""

    def __init__(self, inputs: Pair, result: Tensor) -> None:
        self.inputs, self.result = inputs, result

    def replay(self) -> None:
        self.result.copy_(summed(self.inputs))


class Stream:
    def __init__(self, *_: Any) -> None:
        pass

    def wait_stream(self, _: Any) -> None:
        pass


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """A GPU that is none: what would be captured is kept and run again."""
    captured: list[Pair] = []

    def capture(self: Graphed[Pair, Tensor], given: Pair) -> Any:
        inputs = Pair(*(tensor.clone() for tensor in given))
        captured.append(inputs)
        result = torch.zeros_like(given.first)
        return Replayed(inputs, result), inputs, result

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(graphs.Graphed, "_capture", capture)
    return captured


def pairs(size: int) -> list[Pair]:
    return [Pair(torch.full((size,), float(n)), torch.ones(size)) for n in range(WARMING + 4)]


def test_one_graph_for_each_shape_after_warming_up(pretended: list[Pair]) -> None:
    function = graphed(summed, "cuda", wanted=True)
    for size in (3, 2, 3):
        for number, pair in enumerate(pairs(size)):
            assert torch.equal(function(pair), torch.full((size,), number + 1.0))
    assert [len(inputs.first) for inputs in pretended] == [3, 2]


def test_what_cannot_be_captured_runs_as_usual(pretended: list[Pair], monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(self: Graphed[Pair, Tensor], given: Pair) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphs.Graphed, "_capture", capture)
    function = graphed(summed, "cuda", wanted=True)
    with pytest.warns(UserWarning, match="no CUDA graph, the update runs as usual: operation not permitted") as told:
        answers = [function(pair) for pair in pairs(2)]
    assert [float(answer[0]) for answer in answers] == [n + 1.0 for n in range(WARMING + 4)]
    assert len(told) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_the_numbers_are_the_same() -> None:
    def trained(wanted: bool) -> dict[str, Tensor]:
        given: dict[str, Any] = {"steps": 2048, "rollout": 256, "minibatch": 96, "epochs": 2, "cuda_graph": wanted}
        return weights(ppo.train("CartPole-v1", device="cuda", seed=2, **given))

    plain, replayed = trained(False), trained(True)
    for name, before in plain.items():
        torch.testing.assert_close(before, replayed[name], rtol=1e-3, atol=1e-4)

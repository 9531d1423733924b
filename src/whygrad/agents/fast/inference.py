"""Forward passes in numpy on the weights' own memory: 10 µs for one observation, where torch takes 40.

The arrays are views, so they follow every in-place change: a step of an optimizer, a loaded state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from whygrad.agents.networks import Dueling
from whygrad.agents.spaces import Array

Forward = Callable[[Array], Array]


def forward(network: nn.Module) -> Forward:
    """Observations to outputs without gradient, for whatever the network is and wherever it lives."""
    if any(p.device.type != "cpu" or p.dtype != torch.float32 for p in network.parameters()):
        return _by_torch(network)
    if isinstance(network, nn.Sequential) and len(network) == 1 and isinstance(network[0], Dueling):
        return _dueling(network[0])
    return _plain(network) or _by_torch(network)


def _by_torch(network: nn.Module) -> Forward:
    device = next(network.parameters()).device

    def run(observations: Array) -> Array:
        with torch.no_grad():
            out: Array = network(torch.from_numpy(observations).to(device)).cpu().numpy()
        return out

    return run


def _plain(network: nn.Module) -> Forward | None:
    """A chain of linear layers and activations; None for anything else."""
    steps: list[tuple[Array, Array, Any]] = []
    for layer in network if isinstance(network, nn.Sequential) else [network]:
        if isinstance(layer, nn.Linear):
            steps.append((_view(layer.weight).T, _view(layer.bias), _nothing))
        elif isinstance(layer, (nn.Tanh, nn.ReLU)) and steps:
            weight, bias, _ = steps[-1]
            steps[-1] = weight, bias, _tanh if isinstance(layer, nn.Tanh) else _relu
        else:
            return None

    def run(observations: Array) -> Array:
        hidden = observations
        for weight, bias, activate in steps:
            hidden = hidden @ weight
            hidden += bias
            activate(hidden)
        return hidden

    return run


def _dueling(network: Dueling) -> Forward:
    trunk, value, advantage = (_plain(part) for part in (network.trunk, network.value, network.advantage))
    if trunk is None or value is None or advantage is None:
        return _by_torch(network)

    def run(observations: Array) -> Array:
        hidden = trunk(observations)
        advantages = advantage(hidden)
        out: Array = value(hidden) + advantages - advantages.mean(-1, keepdims=True)
        return out

    return run


def _view(parameter: torch.Tensor) -> Array:
    return parameter.detach().numpy()


def _nothing(_: Array) -> None:
    return


def _tanh(values: Array) -> None:
    np.tanh(values, out=values)


def _relu(values: Array) -> None:
    np.maximum(values, 0, out=values)

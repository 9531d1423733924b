"""Small networks with the names that readers expect; images go through two convolutions first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whygrad.agents.spaces import Spaces

ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


def network(
    spaces: Spaces, outputs: int, hidden: Sequence[int], activation: str = "tanh", last_gain: float = 1.0
) -> nn.Sequential:
    """From observations to outputs, initialised orthogonally."""
    body, features = encoder(spaces)
    return nn.Sequential(*body, *layers([features, *hidden, outputs], activation, last_gain))


def layers(sizes: Sequence[int], activation: str, last_gain: float = 1.0) -> list[nn.Module]:
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    gain = math.sqrt(2)
    out: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes[:-1]):
        out += [_orthogonal(nn.Linear(inputs, outputs), gain), ACTIVATIONS[activation]()]
    return [*out, _orthogonal(nn.Linear(sizes[-2], sizes[-1]), last_gain)]


def encoder(spaces: Spaces) -> tuple[list[nn.Module], int]:
    """The layers in front of the hidden ones, and how many features they give: none for a vector."""
    if not spaces.image:
        return [], spaces.inputs[0]
    image = Image(spaces)
    convolutions: list[nn.Module] = [
        *(image, nn.Conv2d(image.channels, 16, 3, 2, 1), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten()),
    ]
    with torch.no_grad():
        features = nn.Sequential(*convolutions)(torch.zeros(1, *spaces.inputs)).shape[1]
    return convolutions, int(features)


class Image(nn.Module):
    """Channels first, bytes as fractions."""

    def __init__(self, spaces: Spaces) -> None:
        super().__init__()
        self.channels_last = spaces.channels_last
        self.scale = 1 / 255 if spaces.pixels else 1.0
        self.channels = spaces.observation[2 if self.channels_last else 0]

    def forward(self, pixels: Tensor) -> Tensor:
        if self.channels_last:
            pixels = pixels.movedim(-1, 1)
        return pixels.float() * self.scale


class Dueling(nn.Module):
    """Values of actions as the value of the state plus advantages that average to zero."""

    def __init__(self, spaces: Spaces, hidden: Sequence[int], activation: str) -> None:
        super().__init__()
        body, features = encoder(spaces)
        shared = [features, *hidden]
        self.trunk = nn.Sequential(*body, *layers(shared, activation, math.sqrt(2)), ACTIVATIONS[activation]())
        self.value = nn.Linear(shared[-1], 1)
        self.advantage = nn.Linear(shared[-1], spaces.actions)

    def forward(self, observations: Tensor) -> Tensor:
        hidden = self.trunk(observations)
        advantage: Tensor = self.advantage(hidden)
        value: Tensor = self.value(hidden)
        return value + advantage - advantage.mean(-1, keepdim=True)


def _orthogonal(layer: nn.Linear, gain: float) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer

"""What training returns: a policy to act with, and how the training went."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from whygrad.agents.log import Log, Point
from whygrad.agents.spaces import Spaces

FORMAT = 1


class Acting(Protocol):
    """What an agent's network must answer, for a batch of observations."""

    def act(self, observations: Tensor) -> Tensor: ...
    def sample(self, observations: Tensor) -> Tensor: ...
    def value(self, observations: Tensor) -> Tensor: ...
    def state_dict(self) -> dict[str, Any]: ...


class Policy:
    """A trained agent: numpy in, an action for the environment out."""

    def __init__(self, name: str, network: Acting, spaces: Spaces, config: Any, device: str = "cpu") -> None:
        self.name, self.network, self.spaces, self.config = name, network, spaces, config
        self.device = torch.device(device)

    @torch.no_grad()
    def act(self, observation: Any) -> Any:
        """The best action, without chance."""
        return self.spaces.outward(self.network.act(self._batch(observation))[0].cpu().numpy())

    @torch.no_grad()
    def sample(self, observation: Any) -> Any:
        """An action as drawn while training; without chance where the agent only explores by chance (DQN)."""
        return self.spaces.outward(self.network.sample(self._batch(observation))[0].cpu().numpy())

    @torch.no_grad()
    def value(self, observation: Any) -> float:
        """What the agent expects to collect from here, discounted."""
        return float(self.network.value(self._batch(observation))[0])

    def _batch(self, observation: Any) -> Tensor:
        return torch.from_numpy(self.spaces.prepare(observation)).to(self.device).unsqueeze(0)

    def save(self, path: str | Path) -> None:
        state = {key: value.cpu() for key, value in self.network.state_dict().items()}
        kept = {"agent": self.name, "config": asdict(self.config), "spaces": asdict(self.spaces), "state": state}
        torch.save({"whygrad policy": FORMAT, **kept}, path)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Policy:
        """The policy that `save` wrote; a file of anything else is a ValueError. Nothing in the file is executed."""
        try:
            kept = torch.load(path, map_location=device, weights_only=True)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        except Exception as error:
            raise ValueError(f"{path} is not a policy that whygrad.agents saved") from error
        if not isinstance(kept, dict) or kept.get("whygrad policy") != FORMAT:
            raise ValueError(f"{path} is not a policy that whygrad.agents saved")
        module = importlib.import_module(f"whygrad.agents.{kept['agent']}")
        spaces, config = Spaces(**kept["spaces"]), module.Config(**kept["config"])
        network = module.build(spaces, config).to(device)
        network.load_state_dict(kept["state"])
        return cls(kept["agent"], network, spaces, config, device)


@dataclass
class Result:
    """A finished training."""

    policy: Policy
    returns: list[Point]
    """Each episode's return, with the step at which it ended."""
    curves: dict[str, list[Point]]
    """Each metric over the steps."""
    config: Any

    @classmethod
    def of(cls, policy: Policy, log: Log) -> Result:
        return cls(policy, log.returns, log.curves, policy.config)

    def recent(self, episodes: int = 20) -> float:
        """Mean return of the last episodes."""
        last = [value for _, value in self.returns[-episodes:]]
        return sum(last) / len(last) if last else float("nan")

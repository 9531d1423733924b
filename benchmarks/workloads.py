"""Updates of reinforcement learning whose cost is known, to compare what watching them costs."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Between = Callable[[], None]


@dataclass(frozen=True)
class Workload:
    """One training loop; `update` calls its argument between backward and step, where people put their logging."""

    model: nn.Module
    update: Callable[[Between], None]


def nothing() -> None:
    return


def _training(model: nn.Module, loss: Callable[[], Tensor], clip: float | None = None, half: bool = False) -> Workload:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def update(between: Between) -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            value = loss()
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        between()
        optimizer.step()

    return Workload(model, update)


def mlp(inputs: int, hidden: int, outputs: int, depth: int = 2) -> nn.Sequential:
    sizes = [inputs, *[hidden] * depth]
    layers = [layer for a, b in itertools.pairwise(sizes) for layer in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(hidden, outputs))


def nature(actions: int = 6) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions)),
    )


def dqn(q_net: nn.Module, obs: Tensor) -> Workload:
    """One update of a DQN on a fixed batch."""
    target, batch, device = copy.deepcopy(q_net), len(obs), obs.device
    action = torch.zeros(batch, 1, dtype=torch.long, device=device)
    reward = torch.randn(batch, 1, device=device)

    def loss() -> Tensor:
        with torch.no_grad():
            goal = reward + 0.99 * target(obs).max(1, keepdim=True).values
        return F.smooth_l1_loss(q_net(obs).gather(1, action), goal)

    return _training(q_net, loss)


def ppo() -> Workload:
    """One minibatch of PPO with separate networks and clipped gradients."""
    agent = nn.ModuleDict({"actor": mlp(8, 64, 4), "critic": mlp(8, 64, 1)})
    obs, advantage, returns, old = torch.randn(64, 8), torch.randn(64), torch.randn(64), torch.full((64,), -1.4)
    action = torch.randint(0, 4, (64,))

    def loss() -> Tensor:
        chance = torch.distributions.Categorical(logits=agent["actor"](obs))
        ratio: Tensor = (chance.log_prob(action) - old).exp()  # type: ignore[no-untyped-call]
        surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy: Tensor = chance.entropy().mean()  # type: ignore[no-untyped-call]
        return 0.5 * F.mse_loss(agent["critic"](obs).squeeze(1), returns) - surrogate - 0.01 * entropy

    return _training(agent, loss, clip=0.5)


class Transformer(nn.Module):
    def __init__(self, vocabulary: int, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, width // 64 or 1, 4 * width, 0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.tokens(tokens) + self.places.weight
        out: Tensor = self.head(self.blocks(hidden, mask=self.get_buffer("mask"), is_causal=True))
        return out


def policy_gradient(vocabulary: int, width: int, depth: int, length: int, batch: int, device: str) -> Workload:
    """REINFORCE on whole sequences."""
    policy = Transformer(vocabulary, width, depth, length).to(device)
    tokens = torch.randint(0, vocabulary, (batch, length), device=device)
    advantage = torch.randn(batch, 1, device=device)

    def loss() -> Tensor:
        log_probs: Tensor = policy(tokens).float().log_softmax(-1).gather(-1, tokens[..., None]).squeeze(-1)
        return -(log_probs * advantage).mean()

    return _training(policy, loss, clip=1.0, half=device == "cuda")


def workloads(device: str) -> dict[str, Callable[[], Workload]]:
    """By name; made one at a time, so that none is held in memory while another is measured."""
    if device == "cuda":
        return {
            "MLP DQN, batch 1024": lambda: dqn(mlp(64, 256, 8, 3).to(device), torch.randn(1024, 64, device=device)),
            "Nature-CNN DQN, batch 256": lambda: dqn(nature().to(device), torch.rand(256, 4, 84, 84, device=device)),
            "transformer of 100M parameters": lambda: policy_gradient(10_000, 768, 12, 256, 8, device),
        }
    return {
        "small DQN": lambda: dqn(mlp(4, 64, 2, 1), torch.randn(64, 4)),
        "PPO minibatch": ppo,
        "Nature-CNN DQN": lambda: dqn(nature(), torch.rand(32, 4, 84, 84)),
        "small transformer": lambda: policy_gradient(64, 128, 2, 32, 8, device),
    }

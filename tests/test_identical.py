"""Watching changes nothing: weights, gradients and random streams are the same to the last bit."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

import whygrad
from whygrad.session import active

Run = Callable[[], list[nn.Module]]


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()


class Corridor:
    """Walk left or right along a line; the far end pays. Draws from all three random streams."""

    def __init__(self) -> None:
        self.place = 0.0

    def reset(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.place = random.uniform(-0.5, 0.5)
        return self._seen()

    def step(self, push: float) -> tuple[np.ndarray[Any, np.dtype[np.float32]], float, bool]:
        self.place += 0.3 * push + 0.05 * float(np.random.randn())
        return self._seen(), self.place, abs(self.place) > 1.5

    def _seen(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array([self.place, self.place**2, 1.0], dtype=np.float32)


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, outputs))


def dqn() -> list[nn.Module]:
    env, q_net = Corridor(), network(3, 2)
    target = copy.deepcopy(q_net).requires_grad_(False)
    optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-2)
    memory: list[tuple[Any, int, float, Any, bool]] = []
    obs = env.reset()
    for count in range(230):
        with torch.no_grad():
            greedy = int(q_net(torch.from_numpy(obs)).argmax().item())
        action = random.randrange(2) if random.random() < 0.2 else greedy
        following, reward, done = env.step(2.0 * action - 1.0)
        memory.append((obs, action, reward, following, done))
        obs = env.reset() if done else following
        batch = random.sample(memory, min(8, len(memory)))
        states = torch.as_tensor(np.stack([b[0] for b in batch]))
        actions = torch.tensor([b[1] for b in batch])
        rewards = torch.tensor([b[2] for b in batch], dtype=torch.float32)
        with torch.no_grad():
            best = target(torch.as_tensor(np.stack([b[3] for b in batch]))).max(1).values
            goal = rewards + 0.9 * best * torch.tensor([0.0 if b[4] else 1.0 for b in batch])
        loss = nn.functional.smooth_l1_loss(q_net(states).gather(1, actions[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q_net.parameters(), 1.0)
        optimizer.step()
        if count % 20 == 0:
            target.load_state_dict(q_net.state_dict())
    return [q_net, target]


def ppo() -> list[nn.Module]:
    env, policy, critic = Corridor(), network(3, 2), network(3, 1)
    optimizer = torch.optim.AdamW([*policy.parameters(), *critic.parameters()], lr=1e-2)
    obs = env.reset()
    for _ in range(6):
        states: list[Tensor] = []
        actions: list[Tensor] = []
        logs: list[Tensor] = []
        rewards: list[float] = []
        for _ in range(12):
            state = torch.from_numpy(obs)
            with torch.no_grad():
                chance = Categorical(logits=policy(state))
                action = chance.sample()
            states.append(state)
            actions.append(action)
            logs.append(chance.log_prob(action))
            obs, reward, done = env.step(2.0 * action.item() - 1.0)
            rewards.append(reward)
            obs = env.reset() if done else obs
        returns = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32)
        for _ in range(3):
            order = torch.randperm(12)
            batch = torch.stack(states)[order]
            chance = Categorical(logits=policy(batch))
            value = critic(batch).squeeze(1)
            advantage = returns[order] - value.detach()
            ratio = (chance.log_prob(torch.stack(actions)[order]) - torch.stack(logs)[order]).exp()
            clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            loss = -clipped.mean() + 0.5 * (returns[order] - value).pow(2).mean() - 0.01 * chance.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_([*policy.parameters(), *critic.parameters()], 0.5)
            optimizer.step()
    return [policy, critic]


def sac() -> list[nn.Module]:
    env, actor, critic = Corridor(), network(3, 2), network(4, 1)
    target = copy.deepcopy(critic)
    alpha = nn.ParameterList([nn.Parameter(torch.zeros(1))])
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
    critic_optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
    alpha_optimizer = torch.optim.SGD(alpha.parameters(), lr=1e-2)

    def draw(states: Tensor) -> tuple[Tensor, Tensor]:
        mean, spread = actor(states).chunk(2, -1)
        chance = Normal(mean, spread.clamp(-3, 1).exp())
        raw = chance.rsample()
        return raw.tanh(), chance.log_prob(raw) - (1 - raw.tanh().pow(2) + 1e-6).log()

    obs = env.reset()
    memory: list[tuple[Any, float, float, Any]] = []
    for _ in range(30):
        with torch.inference_mode():
            push = float(draw(torch.from_numpy(obs)[None])[0])
        following, reward, done = env.step(push)
        memory.append((obs, push, reward, following))
        obs = env.reset() if done else following
        chosen = [memory[i] for i in np.random.randint(0, len(memory), 8)]
        states = torch.from_numpy(np.stack([c[0] for c in chosen]))
        later = torch.from_numpy(np.stack([c[3] for c in chosen]))
        pushes = torch.tensor([[c[1]] for c in chosen])
        rewards = torch.tensor([[c[2]] for c in chosen])
        temperature = alpha[0].exp().detach()
        with torch.no_grad():
            ahead, log = draw(later)
            goal = rewards + 0.9 * (target(torch.cat([later, ahead], 1)) - temperature * log)
        critic_loss = (critic(torch.cat([states, pushes], 1)) - goal).pow(2).mean()
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        action, log = draw(states)
        actor_loss = (temperature * log - critic(torch.cat([states, action], 1))).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        alpha_loss = -(alpha[0].exp() * (log.detach() - 1.0)).mean()
        alpha_optimizer.zero_grad()
        alpha_loss.backward()
        alpha_optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), critic.parameters(), strict=True):
                slow.mul_(0.99).add_(fast, alpha=0.01)
    return [actor, critic, target, alpha]


def outcome(run: Run, trace: str | None) -> tuple[list[Tensor], list[Tensor | None], list[Any]]:
    """Weights, gradients and where the three random streams stand at the end."""
    torch.manual_seed(11)
    np.random.seed(11)
    random.seed(11)
    if trace is None:
        modules = run()
    else:
        with whygrad.watch(trace=trace) as watching:
            modules = run()
        assert watching.report.limits == []
        assert watching.report.updates > 0
    tensors = [p for module in modules for p in module.parameters()]
    name, keys, *rest = np.random.get_state()
    streams = [torch.get_rng_state().tolist(), (name, list(keys), rest), random.getstate()]
    return [t.detach() for t in tensors], [t.grad for t in tensors], streams


@pytest.mark.parametrize("trace", ["auto", "always", "off"])
@pytest.mark.parametrize("run", [dqn, ppo, sac], ids=lambda run: str(run.__name__))
def test_watching_changes_nothing(run: Run, trace: str) -> None:
    weights, grads, streams = outcome(run, None)
    watched_weights, watched_grads, watched_streams = outcome(run, trace)
    assert all(torch.equal(a, b) for a, b in zip(weights, watched_weights, strict=True))
    for plain, watched in zip(grads, watched_grads, strict=True):
        assert (plain is None) == (watched is None)
        assert plain is None or watched is None or torch.equal(plain, watched)
    assert watched_streams == streams
    assert any(g is not None and bool(g.any()) for g in grads)

"""Scripts of any size: each axis makes one thing grow and leaves the rest small."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

LAST_LINES = """
import json as _json, os as _os, resource as _resource
_use = _resource.getrusage(_resource.RUSAGE_SELF)
with open(_os.environ["GROWING_MARK"], "w") as _file:
    _json.dump([_use.ru_utime + _use.ru_stime, _use.ru_maxrss], _file)
"""
"""What the script has used up to its last line; it comes after everything else."""
HEAD = """\
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)
"""


@dataclass(frozen=True)
class Axis:
    """One thing that grows, and the sizes it is measured at."""

    name: str
    what: str
    script: Callable[[int], str]
    sizes: tuple[int, ...]
    largest: int
    """The exponent is fitted up to here: from there on something is bounded."""

    def written(self, size: int) -> str:
        return self.script(size) + LAST_LINES


def operations(size: int) -> str:
    """Episodes of a recurrent policy that is rewarded: five updates, with so many operations in all."""
    steps = max(1, size // 5 // 13)
    return HEAD + textwrap.dedent("""
        class Policy(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(12, 8)
                self.head = nn.Linear(8, 2)

            def forward(self, x, state):
                state = torch.tanh(self.cell(torch.cat([x, state])))
                return Categorical(logits=self.head(state)), state

        policy = Policy()
        optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
        for update in range(6):
            state, log_probs, rewards = torch.zeros(8), [], []
            x = torch.randn(4)
            for step in range(STEPS):
                distribution, state = policy(x, state)
                action = distribution.sample()
                log_probs.append(distribution.log_prob(action))
                rewards.append(float(action.item() == step % 2))
            returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
            loss = -(torch.stack(log_probs) * (returns - returns.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """).replace("STEPS", str(steps))


def rollout(size: int) -> str:
    """PPO as in one-file scripts: so many steps of four environments in buffers, advantages step by step."""
    return HEAD + textwrap.dedent("""
        class Agent(nn.Module):
            def __init__(self):
                super().__init__()
                self.critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
                self.actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))

            def act(self, x, action=None):
                distribution = Categorical(logits=self.actor(x))
                if action is None:
                    action = distribution.sample()
                return action, distribution.log_prob(action), distribution.entropy(), self.critic(x)

        steps = STEPS
        agent = Agent()
        optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4)
        obs, actions = torch.zeros(steps, 4, 4), torch.zeros(steps, 4)
        logprobs, rewards, values = torch.zeros(steps, 4), torch.zeros(steps, 4), torch.zeros(steps, 4)
        following = torch.randn(4, 4)
        for iteration in range(2):
            for step in range(steps):
                obs[step] = following
                with torch.no_grad():
                    action, logprob, _, value = agent.act(following)
                    values[step] = value.flatten()
                actions[step], logprobs[step] = action, logprob
                rewards[step] = torch.tensor((following[:, 0].numpy() > 0) == action.numpy(), dtype=torch.float32)
                following = torch.randn(4, 4)
            with torch.no_grad():
                next_value = agent.critic(following).reshape(1, -1)
                advantages, last = torch.zeros_like(rewards), 0
                for t in reversed(range(steps)):
                    coming = next_value if t == steps - 1 else values[t + 1]
                    delta = rewards[t] + 0.99 * coming - values[t]
                    advantages[t] = last = delta + 0.99 * 0.95 * last
                returns = advantages + values
            flat_obs, flat_actions, flat_logprobs = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
            flat_advantages, flat_returns = advantages.reshape(-1), returns.reshape(-1)
            order = torch.randperm(4 * steps)
            for chosen in order.chunk(4):
                _, logprob, entropy, value = agent.act(flat_obs[chosen], flat_actions.long()[chosen])
                ratio = (logprob - flat_logprobs[chosen]).exp()
                advantage = flat_advantages[chosen]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                policy_loss = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 0.8, 1.2)).mean()
                value_loss = 0.5 * ((value.view(-1) - flat_returns[chosen]) ** 2).mean()
                loss = policy_loss - 0.01 * entropy.mean() + 0.5 * value_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        """).replace("STEPS", str(size))


def sites(size: int) -> str:
    """So many backward calls, each in a line of its own, with its own step."""
    lines = [HEAD, "net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))"]
    lines += ["optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)", "x, y = torch.randn(16, 4), torch.randn(16, 2)"]
    lines += ["for update in range(7):"]
    for number in range(size):
        lines += [
            f"    error{number} = (net(x) - y).pow(2).mean()",
            f"    loss{number} = error{number} + 0.01 * net(x).abs().mean()",
            "    optimizer.zero_grad()",
            f"    loss{number}.backward()",
            "    optimizer.step()",
        ]
    return "\n".join(lines) + "\n"


def parameters(size: int) -> str:
    """So many parameter tensors, in one deep network and one optimizer."""
    return HEAD + textwrap.dedent("""
        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(LAYERS))

            def forward(self, x):
                for number, layer in enumerate(self.layers):
                    x = layer(x)
                    if number % 4 == 3:
                        x = torch.tanh(x)
                return x

        net = Deep()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        x = torch.randn(4, 3)
        for update in range(8):
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """).replace("LAYERS", str(size // 2))


def lines(size: int) -> str:
    """A small training loop at the end of a file of so many lines."""
    helper = textwrap.dedent("""
        def helper_NUMBER(model, batch, scale=0.5):
            total = 0.0
            for row in batch:
                prediction = model(row[0])
                error = prediction - row[1] * scale
                if error.abs().mean() > 1.0:
                    error = torch.clamp(error, -1.0, 1.0)
                total = total + (error**2).mean()
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            weights = [parameter.detach().clone() for parameter in model.parameters()]
            return {"total": float(total.item()), "weights": weights}
        """)
    loop = textwrap.dedent("""
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        target = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        target.load_state_dict(net.state_dict())
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

        def compute(x, following):
            with torch.no_grad():
                goal = 1.0 + 0.99 * target(following).max(1).values
            chosen = net(x).gather(1, torch.zeros(x.shape[0], 1, dtype=torch.long)).squeeze(1)
            return nn.functional.mse_loss(chosen, goal)

        for update in range(20):
            loss = compute(torch.randn(16, 4), torch.randn(16, 4))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if update % 5 == 0:
                target.load_state_dict(net.state_dict())
        """)
    room = max(0, size - (HEAD + loop + LAST_LINES).count("\n"))
    helpers = "".join(helper.replace("NUMBER", str(number)) for number in range(room // helper.count("\n")))
    return HEAD + helpers + loop


AXES = {
    axis.name: axis
    for axis in (
        Axis("operations", "operations", operations, (1000, 3000, 10_000, 30_000, 100_000, 1_000_000), 100_000),
        Axis("rollout", "steps of a rollout", rollout, (128, 512, 1024, 2048, 4096, 8192), 8192),
        Axis("sites", "backward call sites", sites, (10, 30, 100, 300, 1000), 1000),
        Axis("parameters", "parameter tensors", parameters, (100, 300, 1000, 3000, 10_000), 10_000),
        Axis("lines", "lines of source", lines, (100, 1000, 10_000, 30_000, 100_000), 100_000),
    )
}

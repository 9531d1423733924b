"""The parts under the agents: advantages, inference, optimizer, replay, rollouts."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from agents_world import Corridor
from whygrad.agents import dqn, ppo
from whygrad.agents.advantages import gae, returns_to_go
from whygrad.agents.environments import Environments
from whygrad.agents.fast import inference, sampling
from whygrad.agents.fast.adam import Adam, clip_gradients
from whygrad.agents.fast.following import follow
from whygrad.agents.fast.replay import Replay
from whygrad.agents.fast.rollout import collect, episode
from whygrad.agents.fast.twin import WIDE, TwinCritic
from whygrad.agents.log import Log
from whygrad.agents.networks import network
from whygrad.agents.spaces import Spaces


def slow_advantage(
    step: int, columns: tuple[Tensor, Tensor, Tensor, Tensor, Tensor], gamma: float, trace: float
) -> float:
    """The definition: a sum of discounted errors, up to the end of the episode."""
    rewards, values, following, over, end = columns
    total, weight = 0.0, 1.0
    for later in range(step, len(rewards)):
        value = 0.0 if over[later] else float(following[later])
        total += weight * (float(rewards[later]) + gamma * value - float(values[later]))
        if end[later]:
            break
        weight *= gamma * trace
    return total


def test_gae_is_its_definition_with_both_kinds_of_ends() -> None:
    torch.manual_seed(0)
    rewards, values, following = torch.randn(3, 40, 3)
    end = torch.rand(40, 3) < 0.2
    over = end & (torch.rand(40, 3) < 0.5)
    assert (end & ~over).any()
    assert over.any()
    got = gae(rewards, values, following, over.float(), end.float(), 0.9, 0.8)
    columns = [(rewards[:, n], values[:, n], following[:, n], over[:, n], end[:, n]) for n in range(3)]
    expected = [[slow_advantage(t, columns[n], 0.9, 0.8) for n in range(3)] for t in range(40)]
    torch.testing.assert_close(got, torch.tensor(expected), atol=1e-5, rtol=1e-5)


def test_returns_to_go() -> None:
    assert returns_to_go(np.array([1.0, 0.0, 2.0]), 0.0, 0.5).tolist() == [1.5, 1.0, 2.0]
    assert returns_to_go(np.array([1.0, 0.0, 2.0]), 8.0, 0.5).tolist() == [2.5, 3.0, 6.0]


@pytest.mark.parametrize(
    "net",
    [
        network(Spaces((3,), actions=2), 2, (8, 8), "tanh"),
        network(Spaces((3,), actions=2), 2, (8,), "relu"),
        dqn.build(Spaces((3,), actions=2), dqn.Config(dueling=True, hidden=(8, 8))),
        network(Spaces((3, 6, 6), pixels=True, actions=2), 2, (8,), "relu"),
    ],
)
def test_inference_is_the_network_and_follows_it(net: nn.Module) -> None:
    torch.manual_seed(1)
    image = any(isinstance(layer, nn.Conv2d) for layer in net.modules())
    shown = np.random.default_rng(0).integers(0, 255, (5, 3, 6, 6)).astype(np.uint8) if image else None
    observations = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32) if shown is None else shown
    run = inference.forward(net)
    for _ in range(2):
        with torch.no_grad():
            expected = net(torch.from_numpy(observations)).numpy()
        np.testing.assert_allclose(run(observations), expected, atol=1e-5)
        optimizer = Adam(net.parameters(), 0.1)
        net(torch.from_numpy(observations)).sum().backward()
        optimizer.step()


def test_adam_leaves_alone_what_has_no_gradient() -> None:
    moved, still = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))
    optimizer = Adam([moved, still], lr=0.1)
    optimizer.step()
    assert torch.equal(moved, torch.ones(2))
    moved.grad = torch.ones(2)
    optimizer.step()
    assert (moved < 1).all()
    assert torch.equal(still, torch.ones(3))


def test_adam_and_clipping_are_those_of_torch() -> None:
    torch.manual_seed(2)
    mine = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    theirs = copy.deepcopy(mine)
    optimizer, reference = Adam(mine.parameters(), 0.01, 1e-5), torch.optim.Adam(theirs.parameters(), 0.01, eps=1e-5)
    for most in (0.1, 1e6, 0.5, 0.1):
        data = torch.randn(4, 3)
        for net, stepping in ((mine, optimizer), (theirs, reference)):
            stepping.zero_grad()
            net(data).square().sum().backward()
        norm = clip_gradients(optimizer.parameters, most)
        torch.testing.assert_close(norm, nn.utils.clip_grad_norm_(theirs.parameters(), most))
        optimizer.step()
        reference.step()
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(one, other)


def test_a_target_is_copied_or_drawn() -> None:
    target, online = nn.Linear(2, 2), nn.Linear(2, 2)
    before = target.weight.detach().clone()
    follow(target, online, 0.25)
    torch.testing.assert_close(target.weight.detach(), 0.75 * before + 0.25 * online.weight.detach())
    follow(target, online, 1.0)
    assert torch.equal(target.weight, online.weight)
    assert target.weight.data_ptr() != online.weight.data_ptr()


def test_replay_keeps_rows_together_and_forgets_the_oldest() -> None:
    spaces, rng = Spaces((2,), low=(-1.0,) * 2, high=(1.0,) * 2, action=(2,)), np.random.default_rng(0)
    replay = Replay(8, spaces, "cpu")
    for n in range(12):
        seen = np.full(2, n, np.float32)
        replay.add(seen, seen / 100, float(n), seen + 1, n % 2 == 0)
    assert len(replay) == 8
    batch = replay.sample(200, rng)
    rows = batch.rewards
    assert set(rows.tolist()) == set(range(4, 12))
    torch.testing.assert_close(batch.observations, rows[:, None].expand(-1, 2))
    torch.testing.assert_close(batch.next_observations, rows[:, None].expand(-1, 2) + 1)
    torch.testing.assert_close(batch.actions, rows[:, None].expand(-1, 2) / 100)
    assert batch.terminated.tolist() == [float(n % 2 == 0) for n in rows.tolist()]


def test_rollouts_tell_truncation_from_termination() -> None:
    log = Log(1000)
    envs = Environments(Corridor, 2, 1, log)
    rng = np.random.default_rng(0)
    rollout = collect(envs, lambda seen: rng.integers(0, 2, len(seen)), 60)
    assert log.step == 120
    cut = {(t, n) for t, n, _ in rollout.cut}
    assert cut
    for t in range(60):
        for n in range(2):
            assert bool(rollout.terminated[t, n]) == bool(rollout.rewards[t, n] > 0)
            assert ((t, n) in cut) == bool(rollout.ended[t, n] and not rollout.terminated[t, n])
    seen = torch.from_numpy(rollout.observations)
    places = seen.argmax(-1)
    values, following = rollout.values(lambda flat: flat.argmax(-1).float(), seen)
    torch.testing.assert_close(values, places.float())
    for t, n, last in rollout.cut:
        assert float(following[t, n]) == last.argmax()
        assert abs(int(places[t, n]) - int(last.argmax())) <= 1
    for t in range(59):
        for n in range(2):
            if not rollout.ended[t, n]:
                assert float(following[t, n]) == float(values[t + 1, n])


def test_observations_are_prepared_for_the_network() -> None:
    grey = Spaces((2, 2), pixels=True).prepare(np.full((2, 2), 255, np.uint8))
    assert grey.dtype == np.float32
    assert grey.tolist() == [1.0] * 4
    image = Spaces((2, 2, 1), pixels=True).prepare(np.full((2, 2, 1), 255, np.uint8))
    assert image.dtype == np.uint8
    assert image.shape == (2, 2, 1)
    assert Spaces((2,)).prepare([0.5, 1]).tolist() == [0.5, 1.0]


def test_actions_are_stretched_to_the_bounds() -> None:
    spaces = Spaces((1,), low=(-2.0, 0.0), high=(2.0, 1.0), action=(2, 1))
    assert spaces.outward(np.array([-1.0, 1.0])).tolist() == [[-2.0], [1.0]]
    assert spaces.outward(np.array([9.0, 0.0])).tolist() == [[2.0], [0.5]]
    assert Spaces((1,), low=(-np.inf,), high=(np.inf,), action=(1,)).outward(np.array([9.0])).tolist() == [9.0]
    assert Spaces((1,), actions=2, start=3).outward(np.asarray(1)) == 4


def test_an_episode_is_whole() -> None:
    envs = Environments(Corridor, 1, 1, Log(1000))
    to_the_left = episode(envs, lambda seen: np.zeros(1, np.int64), 100)
    assert len(to_the_left.rewards) == 8
    assert not to_the_left.terminated
    to_the_right = episode(envs, lambda seen: np.ones(1, np.int64), 100)
    assert to_the_right.terminated
    assert to_the_right.rewards.sum() == 1


def test_draws_have_their_probabilities() -> None:
    rng = np.random.default_rng(0)
    logits = np.log(np.array([0.7, 0.2, 0.1]))
    counts = np.bincount(sampling.categorical(np.tile(logits, (20_000, 1)), rng), minlength=3) / 20_000
    np.testing.assert_allclose(counts, [0.7, 0.2, 0.1], atol=0.015)
    drawn = sampling.gaussian(np.full(20_000, 3.0), np.full(20_000, 0.5), rng)
    assert drawn.mean() == pytest.approx(3.0, abs=0.02)
    assert drawn.std() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("hidden", [8, WIDE])
def test_twin_critics_are_two_networks(hidden: int) -> None:
    torch.manual_seed(0)
    spaces = Spaces((3,), low=(-1.0,), high=(1.0,), action=(1,))
    critic = TwinCritic(spaces, (hidden, hidden))
    seen, action = torch.randn(5, 3), torch.rand(5, 1)
    both = critic(seen, action)
    apart = []
    for number in range(2):
        out = torch.cat([seen, action], 1)
        for layer in range(3):
            weight, bias = (critic.get_parameter(f"layers.{layer}.{name}")[number] for name in ("weight", "bias"))
            out = out @ weight + bias
            out = out.relu() if layer < 2 else out
        torch.testing.assert_close(both[number], out)
        apart.append(out)
    torch.testing.assert_close(critic(seen, action, constant=True), both)
    parameters = list(critic.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(both.square().sum(), parameters),
        torch.autograd.grad(torch.stack(apart).square().sum(), parameters),
    )


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_the_first_ratio_of_ppo_is_exactly_one(env: str) -> None:
    """Old log-probabilities come from one pass over the rollout; the first minibatch must find the same numbers."""
    config = ppo.Config(rollout=128, hidden=(16,))
    torch.manual_seed(3)
    envs = Environments(env, 2, 3, Log(1000))
    agent = ppo.build(envs.spaces, config)
    batch = ppo.prepare(agent, collect(envs, agent.sampler(np.random.default_rng(3)), 128), config, "cpu")
    order = torch.randperm(256)[:64]
    log_prob, _ = agent.evaluate(batch.observations[order], batch.actions[order])
    assert torch.equal((log_prob - batch.log_probs[order]).exp(), torch.ones(64))

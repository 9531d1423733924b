"""The solutions against numbers that were worked out by hand: the checks compare learners with them."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import nn

from whygrad.learn.course import find, module


def solved(name: str) -> Any:
    exercise = find(name)
    return module(exercise.solution, str(exercise.folder / "solution.py"))


def close(found: Any, wanted: Any) -> bool:
    return bool(
        torch.allclose(torch.as_tensor(found, dtype=torch.float64), torch.as_tensor(wanted, dtype=torch.float64))
    )


# -- autograd


def test_derivatives() -> None:
    assert solved("1_autograd/01_square").slope(2.0) == 4
    assert close(solved("1_autograd/02_dot").gradient([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])
    assert solved("1_autograd/05_cubic").slope(3.0) == (29, None)
    weight, middle = solved("1_autograd/11_intermediate").gradients(1.0, 2.0)
    assert (weight, middle) == (24, 12)


def test_gradients_add_up_unless_they_are_cleared() -> None:
    first, second = solved("1_autograd/03_two_leaves").gradients(1.0, 2.0)
    assert (first, second) == ((2, 4), (4, 8))
    assert solved("1_autograd/04_zeroing").slopes([1.0, 2.0, 3.0]) == [2, 4, 6]


def test_sums_vectors_and_shared_graphs() -> None:
    weight, losses = solved("1_autograd/06_batch_sum").gradients(1.0, [1.0, 2.0, 3.0])
    assert weight == 14
    assert close(losses, [1.0, 1.0, 1.0])
    assert close(solved("1_autograd/08_vector_backward").weighted([1.0, 2.0], [1.0, 10.0]), [3.0, 120.0])
    assert solved("1_autograd/09_retain_graph").both(1.0, 3.0)[0] == 126


def test_a_descent_step_and_a_constant_target() -> None:
    w, b = solved("1_autograd/07_descent_step").step(1.0, 0.0, 2.0, 5.0, 0.1)
    assert close([w.item(), b.item()], [2.2, 0.6])
    gradient, _ = solved("1_autograd/10_requires_grad").gradient([[1.0, 2.0]], [3, 1])
    assert close(gradient, [10.0, 20.0])
    leaf = torch.tensor(1.0, requires_grad=True)
    solved("1_autograd/12_detach").td_loss(leaf, 2.0, 1.0, 3.0).backward()
    assert leaf.grad is not None
    assert leaf.grad.item() == pytest.approx(-6.8)


# -- building blocks


def test_blocks_pick_sample_and_follow() -> None:
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert close(solved("2_blocks/04_gather").chosen(table, torch.tensor([1, 0])), [2.0, 3.0])
    actions, log_probs = solved("2_blocks/03_sample_actions").act(
        lambda states: states, torch.tensor([[0.0, 50.0]] * 8)
    )
    assert close(actions, [1] * 8)
    assert close(log_probs, [0.0] * 8)
    online, target = nn.Linear(1, 1), nn.Linear(1, 1)
    with torch.no_grad():
        online.weight.fill_(1.0)
        target.weight.fill_(0.0)
    solved("2_blocks/10_polyak").follow(online, target, 0.25)
    assert target.weight.item() == 0.25
    solved("2_blocks/06_target_copy").after_step(9, online, target)
    assert target.weight.item() == 0.25
    solved("2_blocks/06_target_copy").after_step(10, online, target)
    assert target.weight.item() == 1.0


def test_a_training_step_by_hand() -> None:
    net = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        net.weight.fill_(1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    one, three = torch.tensor([[1.0]]), torch.tensor([[3.0]])
    step = solved("2_blocks/07_train_step").train_step
    assert (step(net, optimizer, one, three), step(net, optimizer, one, three)) == pytest.approx((4.0, 2.56))
    assert net.weight.item() == pytest.approx(1.72)


# -- losses


def constant(*values: float) -> nn.Module:
    """A network whose outputs are these, whatever it sees; only the bias is left."""
    net = nn.Linear(1, len(values))
    with torch.no_grad():
        net.weight.zero_()
        net.bias.copy_(torch.tensor(values))
    return net


STATES = torch.zeros(2, 1)


def test_targets_and_errors() -> None:
    rewards, done = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 1.0])
    target = solved("3_losses/01_td_target").td_target(constant(2.0, 5.0), rewards, STATES, done, 0.5)
    assert close(target, [3.5, 1.0])
    loss = solved("3_losses/02_dqn_loss").dqn_loss(constant(2.0, 5.0), STATES, torch.tensor([0, 1]), target)
    assert loss.item() == pytest.approx((1.5**2 + 4.0**2) / 2)
    actor, critic = solved("3_losses/06_actor_critic").losses(
        constant(2.0), torch.tensor([-1.0, -2.0]), STATES, rewards, STATES, done, 0.5
    )
    assert (actor.item(), critic.item()) == pytest.approx(((-1 * 0 + -2 * -1) * -0.5, 0.5))


def test_returns_and_advantages() -> None:
    assert close(solved("3_losses/03_returns").returns([1.0, 1.0, 1.0], 0.5), [1.75, 1.5, 1.0])
    zeros = torch.zeros(3)
    ones, values = torch.ones(3), torch.tensor([0.0, 0.0, 0.0, 4.0])
    assert close(solved("3_losses/07_gae").gae(ones, values, zeros, 0.5, 0.5), [1 + 0.25 * (1 + 0.25 * 3), 1.75, 3.0])
    assert close(solved("3_losses/07_gae").gae(ones, values, ones, 0.5, 0.5), [1.0, 1.0, 1.0])


def test_policy_losses() -> None:
    half = math.log(0.5)
    returns = torch.tensor([1.0, 3.0])
    loss = solved("3_losses/04_reinforce").reinforce_loss(constant(0.0, 0.0), STATES, torch.tensor([0, 1]), returns)
    assert loss.item() == pytest.approx(-half * 2)
    policy, value = solved("3_losses/05_baseline").losses(torch.tensor([half, half]), torch.tensor([1.0, 1.0]), returns)
    assert (policy.item(), value.item()) == pytest.approx((-half, 2.0))
    old = torch.tensor([0.0, 0.0, 0.0])
    new = torch.tensor([2.0, 2.0, 0.5]).log()
    loss = solved("3_losses/08_ppo_clip").ppo_loss(new, old, torch.tensor([1.0, -1.0, -1.0]), 0.2)
    assert loss.item() == pytest.approx(-(1.2 - 2.0 - 0.8) / 3)
    bonus = solved("3_losses/10_entropy").with_bonus(torch.tensor(1.0), torch.zeros(2, 4), 0.5)
    assert bonus.item() == pytest.approx(1 - 0.5 * math.log(4))


def test_soft_actor_critic() -> None:
    class Joined(nn.Module):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.value = nn.Parameter(torch.tensor(value))

        def forward(self, joined: torch.Tensor) -> torch.Tensor:
            return self.value.expand(len(joined), 1)

    batch = {"states": STATES, "actions": STATES, "next_states": STATES}
    batch |= {"rewards": torch.tensor([1.0, 1.0]), "done": torch.tensor([0.0, 1.0])}
    critics, targets = [Joined(0.0), Joined(1.0)], [Joined(3.0), Joined(5.0)]
    loss = solved("3_losses/12_sac_critic").critic_loss(
        critics, targets, batch, STATES, torch.tensor([2.0, 2.0]), 0.5, 0.5
    )
    assert loss.item() == pytest.approx((2.0**2 + 1.0**2) / 2 + (1.0**2 + 0.0**2) / 2)
    loss = solved("3_losses/13_sac_actor").actor_loss(targets, STATES, STATES, torch.tensor([2.0, 2.0]), 0.5)
    assert loss.item() == pytest.approx(0.5 * 2 - 3)
    log_alpha = torch.tensor(-1.0, requires_grad=True)
    loss = solved("3_losses/14_temperature").temperature_loss(log_alpha, torch.tensor([3.0, 1.0]), -1.0)
    loss.backward()
    assert log_alpha.grad is not None
    assert (loss.item(), log_alpha.grad.item()) == pytest.approx((1.0, -1.0))


def test_a_squashed_action_has_the_density_that_integrates_to_one() -> None:
    """Sampling by importance: the mean of 1 / density over the actions drawn is the length of the interval, 2."""
    torch.manual_seed(0)
    act = solved("3_losses/11_sac_action").act
    action, log_prob = act(constant(0.3, -0.5), torch.zeros(200_000, 1))
    inside = action.abs().squeeze(1) < 0.8
    assert (torch.exp(-log_prob) * inside).mean().item() == pytest.approx(1.6, rel=0.02)


def test_clipping_and_ratios() -> None:
    net = constant(1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before, after = solved("3_losses/15_clip_norm").step(net, optimizer, 10 * net(STATES).pow(2).mean(), 0.5)
    assert (before, after) == pytest.approx((20.0, 0.5), rel=1e-3)
    policy = constant(0.0, 0.0)
    copied = copy.deepcopy(policy)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.5)
    distances = solved("3_losses/09_ppo_ratio").update(
        policy, optimizer, STATES, torch.tensor([0, 0]), torch.tensor([1.0, 1.0]), 2
    )
    moved = torch.softmax(policy(STATES), 1)[0, 0] / torch.softmax(copied(STATES), 1)[0, 0]
    assert distances[0] == 0
    assert distances[1] == pytest.approx(math.exp(0.25) / (math.exp(0.25) + math.exp(-0.25)) / 0.5 - 1, rel=1e-4)
    assert moved.item() == pytest.approx(1 + distances[1]), "beyond 1.2 the clipped surrogate has no gradient"

"""The losses: their gradients against finite differences, what they leave alone, and examples by hand."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from whygrad.agents import a2c, dqn, ppo, reinforce, sac
from whygrad.agents.fast.adam import Adam
from whygrad.agents.fast.replay import Transitions
from whygrad.agents.soft_actor_critic import SoftActorCritic, squashed
from whygrad.agents.spaces import Spaces

DISCRETE = Spaces((3,), actions=4)
CONTINUOUS = Spaces((3,), low=(-1.0, -2.0), high=(1.0, 2.0), action=(2,))


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def agrees(loss: Callable[[], Tensor], parameters: list[Tensor], step: float = 1e-6) -> None:
    """Every entry of the gradient against the central difference of the loss."""
    got = torch.autograd.grad(loss(), parameters)
    for parameter, gradient in zip(parameters, got, strict=True):
        flat = parameter.detach().view(-1)
        for index in range(0, len(flat), max(1, len(flat) // 12)):
            kept = float(flat[index])
            flat[index] = kept + step
            above = float(loss().detach())
            flat[index] = kept - step
            below = float(loss().detach())
            flat[index] = kept
            assert float(gradient.view(-1)[index]) == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-7)


def untouched(loss: Tensor, *modules: nn.Module) -> None:
    """No gradient at all arrives there, not even zeros."""
    parameters = [p for module in modules for p in module.parameters()]
    assert all(g is None for g in torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True))


def transitions(spaces: Spaces, size: int = 16) -> Transitions:
    observations, following = torch.randn(2, size, 3).double()
    actions = torch.randint(spaces.actions, (size,)) if spaces.discrete else torch.rand(size, 2).double() * 2 - 1
    return Transitions(observations, actions, torch.randn(size).double(), following, (torch.rand(size) < 0.3).double())


# -- DQN


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("dueling", [False, True])
def test_td_loss(double: bool, dueling: bool) -> None:
    config = dqn.Config(hidden=(8,), activation="tanh", dueling=dueling)
    q_net = dqn.build(DISCRETE, config).double()
    target_net, batch = copy.deepcopy(q_net), transitions(DISCRETE)
    loss = dqn.td_loss(q_net, target_net, batch, 0.9, double)
    untouched(loss, target_net)
    target = dqn.td_target(q_net, target_net, batch, 0.9, double)
    assert not target.requires_grad

    def fixed() -> Tensor:  # The target is a constant: the finite difference must hold it still, too.
        taken = q_net(batch.observations)[torch.arange(16), batch.actions]
        return nn.functional.smooth_l1_loss(taken, target)

    agrees(fixed, list(q_net.parameters()))
    again = dqn.td_loss(q_net, target_net, batch, 0.9, double)
    gradients = [torch.autograd.grad(value, list(q_net.parameters())) for value in (again, fixed())]
    torch.testing.assert_close(gradients[0], gradients[1])


class Table(nn.Module):
    """A value for each of two states and two actions; a state is shown as its index."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.tensor(rows))

    def forward(self, states: Tensor) -> Tensor:
        return self.values[states]


def test_dqn_by_hand() -> None:
    """Two transitions, gamma 0.5. From state 0 by action 1 with reward 1 to state 1; from state 1 by action 0 with
    reward 2 to the end. The target network says max(3, 4) = 4 of state 1, so the targets are 1 + 0.5 * 4 = 3 and 2.
    Predicted were 0.5 and 1.8: errors of -2.5 and -0.2. The Huber loss is (2 + 0.02) / 2, its slopes -1/2 and -0.2/2.
    """
    q_net, target_net = Table([[0.0, 0.5], [1.8, 9.0]]), Table([[7.0, 7.0], [3.0, 4.0]])
    batch = Transitions(
        torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([1.0, 2.0]), torch.tensor([1, 0]), torch.tensor([0, 1])
    )
    assert dqn.td_target(q_net, target_net, batch, 0.5, double=False).tolist() == [3.0, 2.0]
    # The trained network prefers action 1 in state 1 (9.0), and the target network gives that 4.0.
    assert dqn.td_target(q_net, target_net, batch, 0.5, double=True).tolist() == [3.0, 2.0]
    loss = dqn.td_loss(q_net, target_net, batch, 0.5, double=False)
    assert float(loss.detach()) == pytest.approx((2.0 + 0.02) / 2)
    loss.backward()
    assert q_net.values.grad is not None
    torch.testing.assert_close(q_net.values.grad, torch.tensor([[0.0, -0.5], [-0.1, 0.0]]))


def test_a_dqn_update_moves_by_the_learning_rate() -> None:
    """The first step of Adam is the sign of the gradient times the learning rate, where there is gradient."""
    q_net, target_net = Table([[0.0, 0.5], [1.8, 9.0]]), Table([[7.0, 7.0], [3.0, 4.0]])
    batch = Transitions(
        torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([1.0, 2.0]), torch.tensor([1, 0]), torch.tensor([0, 1])
    )
    metrics = dqn.update(q_net, target_net, Adam(q_net.parameters(), 0.01), batch, dqn.Config(gamma=0.5))
    torch.testing.assert_close(q_net.values.detach(), torch.tensor([[0.0, 0.51], [1.81, 9.0]]))
    assert float(metrics["gradient"]) == pytest.approx((0.25 + 0.01) ** 0.5)
    assert target_net.values.tolist() == [[7.0, 7.0], [3.0, 4.0]]


# -- policy gradients


@pytest.mark.parametrize("spaces", [DISCRETE, CONTINUOUS])
@pytest.mark.parametrize("module", [reinforce, a2c, ppo])
def test_actor_and_critic_losses(module: ModuleType, spaces: Spaces) -> None:
    agent = module.build(spaces, module.Config(hidden=(8,), log_std=-0.5)).double()
    batch = transitions(spaces)
    with torch.no_grad():
        old, _ = agent.evaluate(batch.observations, batch.actions)
    advantages, returns = torch.randn(16).double(), torch.randn(16).double()

    def policy_loss() -> Tensor:
        log_prob, _ = agent.evaluate(batch.observations, batch.actions)
        if module is ppo:
            shifted = ppo.Batch(batch.observations, batch.actions, old + 0.1 * returns, advantages, returns)
            return ppo.clipped_surrogate_loss(log_prob, shifted, 0.2)
        whole = module.Batch(batch.observations, batch.actions, advantages, returns)
        loss: Tensor = module.policy_gradient_loss(log_prob, whole)
        return loss

    def critic_loss() -> Tensor:
        loss: Tensor = module.value_loss(agent.value(batch.observations), Returns(returns))
        return loss

    actor = [*agent.actor.parameters(), *([] if agent.log_std is None else [agent.log_std])]
    agrees(policy_loss, actor)
    untouched(policy_loss(), agent.critic)
    agrees(critic_loss, list(agent.critic.parameters()))
    untouched(critic_loss(), agent.actor)


class Returns(NamedTuple):
    """Only what the value loss looks at."""

    returns: Tensor


@pytest.mark.parametrize("spaces", [DISCRETE, CONTINUOUS])
def test_log_probabilities_are_those_of_torch(spaces: Spaces) -> None:
    agent = ppo.build(spaces, ppo.Config(hidden=(8,), log_std=-0.5)).double()
    nn.init.normal_(agent.actor.get_parameter("2.weight"))
    batch = transitions(spaces)
    log_prob, entropy = agent.evaluate(batch.observations, batch.actions)
    out = agent.actor(batch.observations)
    if agent.log_std is None:
        theirs: torch.distributions.Distribution = torch.distributions.Categorical(logits=out)
    else:
        normal = torch.distributions.Normal(out, agent.log_std.exp())
        theirs = torch.distributions.Independent(normal, 1)
    torch.testing.assert_close(log_prob, theirs.log_prob(batch.actions))
    torch.testing.assert_close(entropy, theirs.entropy())


def test_clipping_stops_the_gradient_of_what_went_too_far() -> None:
    """Ratios 2 and 0.5 with clip 0.2: only moves that make things worse still count."""
    log_prob = torch.tensor([2.0, 2.0, 0.5, 0.5]).log().requires_grad_()
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    batch = ppo.Batch(advantages, advantages, torch.zeros(4), advantages, advantages)
    ppo.clipped_surrogate_loss(log_prob, batch, 0.2).backward()
    assert log_prob.grad is not None
    torch.testing.assert_close(log_prob.grad, torch.tensor([0.0, 2.0, -0.5, 0.0]) / 4)


# -- SAC


@pytest.mark.parametrize("spaces", [DISCRETE, CONTINUOUS])
def test_soft_actor_critic_losses(spaces: Spaces) -> None:
    agent: SoftActorCritic = sac.build(spaces, sac.Config(hidden=(8,), temperature=0.3)).double()
    target_critic, batch = copy.deepcopy(agent.critic), transitions(spaces)
    noise = torch.randn(16, 2).double()
    target = sac.soft_target(agent, target_critic, batch, noise, 0.9)
    assert not target.requires_grad
    agrees(lambda: sac.soft_q_loss(agent.critic, batch, target), list(agent.critic.parameters()))
    untouched(sac.soft_q_loss(agent.critic, batch, target), agent.actor, target_critic)

    def policy_loss() -> Tensor:
        value, log_prob = sac.judged(agent, agent.critic, batch.observations, noise)
        return sac.actor_loss(value, log_prob, agent.log_alpha)

    agrees(policy_loss, list(agent.actor.parameters()))
    untouched(policy_loss(), agent.critic)
    assert list(torch.autograd.grad(policy_loss(), agent.log_alpha, allow_unused=True)) == [None]

    def temperature() -> Tensor:
        _, log_prob = sac.judged(agent, agent.critic, batch.observations, noise)
        return sac.temperature_loss(agent.log_alpha, log_prob, -2.0)

    agrees(temperature, [agent.log_alpha])
    untouched(temperature(), agent.actor, agent.critic)


def test_squashed_log_probability_is_that_of_torch() -> None:
    out, noise = torch.randn(8, 4).double(), torch.randn(8, 2).double()
    action, log_prob = squashed(out, noise)
    mean, log_std = out.chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    theirs = torch.distributions.TransformedDistribution(normal, torch.distributions.TanhTransform())
    torch.testing.assert_close(log_prob, theirs.log_prob(action).sum(-1))


def test_the_soft_target_by_hand() -> None:
    """One action of two certain: value 5 without entropy; terminated steps keep their reward alone."""

    class Fixed(nn.Module):
        discrete = True
        log_alpha = torch.tensor(0.0)

        def actor(self, observations: Tensor) -> Tensor:
            return torch.tensor([[100.0, 0.0]]).expand(len(observations), 2)

    def critic(observations: Tensor, constant: bool) -> Tensor:
        assert constant
        return torch.tensor([[[5.0, 9.0]], [[6.0, 1.0]]]).expand(2, len(observations), 2)

    batch = Transitions(
        *(torch.zeros(2, 1),) * 2, torch.tensor([1.0, 2.0]), torch.zeros(2, 1), torch.tensor([0.0, 1.0])
    )
    target = sac.soft_target(Fixed(), critic, batch, torch.zeros(2), 0.5)  # type: ignore[arg-type]
    assert target.tolist() == [1.0 + 0.5 * 5.0, 2.0]

"""Agents with one thing wrong each, by the probe that must notice it, and no earlier one: its code, or its name where
two probes share a code."""
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal

from probe_agents import ActorCritic, Batch, Dqn, Gaussian, Learner, Remembering

STEPS = 400
"""Enough for the agents that are right, in every probe but the one for a memory."""
LONGER = {"Memory": 1200}
FAULTS: dict[str, list[type[Learner]]] = {}


def fails(probe: str):  # type: ignore[no-untyped-def]
    def noted(agent: type[Learner]) -> type[Learner]:
        FAULTS.setdefault(probe, []).append(agent)
        return agent

    return noted


# -- WG901: the value head is not trained, or towards something else


@fails("WG901")
class QNetworkNotInOptimizer(Dqn):
    def trained(self) -> list[nn.Parameter]:
        return list(self.target.parameters())


@fails("WG901")
class QValuesBounded(Dqn):
    def build(self) -> None:
        super().build()
        self.q.append(nn.Tanh())
        self.target.append(nn.Tanh())


@fails("WG901")
class CriticNotInOptimizer(ActorCritic):
    def trained(self) -> list[nn.Parameter]:
        return list(self.actor.parameters())


@fails("WG901")
class CriticDetached(ActorCritic):
    def predicted(self, batch: Batch) -> Tensor:
        return super().predicted(batch).detach()


@fails("WG901")
class RewardNegated(Gaussian):
    def earned(self, batch: Batch) -> Tensor:
        return -batch.reward


# -- WG902: the value does not depend on the observation


@fails("WG902")
class QTargetsInAColumn(Dqn):
    def loss(self, prediction: Tensor, aim: Tensor) -> Tensor:
        return (prediction - aim.unsqueeze(1)).pow(2).mean()


@fails("WG902")
class QOfOtherSamples(Dqn):
    def seen(self, batch: Batch) -> Tensor:
        return batch.obs.roll(1, 0)


@fails("WG902")
class ReturnsInAColumn(ActorCritic):
    def value_loss(self, prediction: Tensor, returns: Tensor) -> Tensor:
        return (prediction - returns.unsqueeze(1)).pow(2).mean()


@fails("WG902")
class CriticOfNextObservation(ActorCritic):
    def predicted(self, batch: Batch) -> Tensor:
        return super().predicted(batch._replace(obs=batch.next_obs))


@fails("WG902")
class CriticNormalisedAway(Gaussian):
    def predicted(self, batch: Batch) -> Tensor:
        return super().predicted(batch._replace(obs=batch.obs - batch.obs))

    def value(self, obs: Any) -> float:
        return super().value(obs - obs)


# -- WG903: the discount


@fails("WG903")
class QDiscountForgotten(Dqn):
    def discount(self) -> float:
        return 1.0


@fails("WG903")
class QNeverBootstraps(Dqn):
    def mask(self, batch: Batch) -> Tensor:
        return torch.zeros_like(batch.terminated)


@fails("WG903")
class QDiscountTwice(Dqn):
    def discount(self) -> float:
        return self.gamma**2


@fails("WG903")
class QTargetNeverFollows(Dqn):
    def learn(self, batch: Batch) -> None:
        kept = {name: tensor.clone() for name, tensor in self.target.state_dict().items()}
        super().learn(batch)
        self.target.load_state_dict(kept)


@fails("WG903")
class DiscountHardCoded(ActorCritic):
    def discount(self) -> float:
        return 0.99


@fails("WG903")
class MaskOfThePreviousStep(ActorCritic):
    def mask(self, batch: Batch) -> Tensor:
        return 1.0 - batch.terminated.roll(1)


@fails("WG903")
class RewardOnlyReturns(Gaussian):
    def returns(self, batch: Batch, advantage: Tensor) -> Tensor:
        return batch.reward


# -- WG904: the policy's direction


@fails("WG904")
class QOfTheOtherAction(Dqn):
    def taken(self, batch: Batch) -> Tensor:
        return super().taken(batch._replace(action=1 - batch.action))


@fails("WG904")
class AdvantageReversed(ActorCritic):
    def normal(self, advantage: Tensor) -> Tensor:
        return -super().normal(advantage)


@fails("WG904")
class PolicyDetached(ActorCritic):
    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        return super().policy_loss(ratio.detach(), advantage)


@fails("WG904")
class ActorNotInOptimizer(ActorCritic):
    def trained(self) -> list[nn.Parameter]:
        return list(self.critic.parameters())


@fails("WG904")
class AdvantageOfOtherSamples(Gaussian):
    def normal(self, advantage: Tensor) -> Tensor:
        return super().normal(advantage).roll(1, 0)


# -- WG905: the policy's input


@fails("WG905")
class ActsOnWhatItSawBefore(Dqn):
    before: Any = None

    def act(self, obs: Any) -> int:
        seen, self.before = (obs if self.before is None else self.before), obs
        return super().act(seen)


@fails("WG905")
class PolicyBlind(ActorCritic):
    def policy(self, obs: Tensor) -> Distribution:
        return super().policy(torch.ones_like(obs))


@fails("WG905")
class PolicyLearnsOnNextObservation(ActorCritic):
    def watched(self, batch: Batch) -> Tensor:
        return batch.next_obs


@fails("WG905")
class PolicyOfOtherSamples(Gaussian):
    def watched(self, batch: Batch) -> Tensor:
        return batch.obs.roll(1, 0)


# -- WG906: terminal states


@fails("WG906")
class QUnmasked(Dqn):
    def mask(self, batch: Batch) -> Tensor:
        return torch.ones_like(batch.terminated)


@fails("WG906")
class QMaskedByTruncation(Dqn):
    def mask(self, batch: Batch) -> Tensor:
        return 1.0 - batch.truncated


@fails("WG906")
class CriticUnmasked(ActorCritic):
    def mask(self, batch: Batch) -> Tensor:
        return torch.ones_like(batch.terminated)


@fails("WG906")
class CriticGoesOnInTheNextEpisode(Gaussian):
    def mask(self, batch: Batch) -> Tensor:
        return torch.ones_like(batch.terminated)

    def following(self, batch: Batch) -> Tensor:
        return batch.reset_obs


# -- WG907: time limits


class MaskedByEither(Learner):
    def mask(self, batch: Batch) -> Tensor:
        return 1.0 - torch.maximum(batch.terminated, batch.truncated)


class FollowedByTheReset(Learner):
    def following(self, batch: Batch) -> Tensor:
        return batch.reset_obs


@fails("WG907")
class QTruncationIsTerminal(MaskedByEither, Dqn):
    pass


@fails("WG907")
class QBootstrapsFromTheReset(FollowedByTheReset, Dqn):
    pass


@fails("WG907")
class TruncationIsTerminal(MaskedByEither, ActorCritic):
    pass


@fails("WG907")
class BootstrapsFromTheReset(FollowedByTheReset, Gaussian):
    pass


# -- WG908: continuous actions


@fails("WG908")
class ActionUnscaled(Gaussian):
    """Squashed into -1 to 1 and never stretched to the bounds."""

    def policy(self, obs: Tensor) -> Distribution:
        return Independent(Normal(self.actor(obs).tanh(), self.log_std.exp()), 1)


@fails("WG908")
class FirstNumberOnly(Gaussian):
    """The log-probability of the first number stands for the whole action."""

    def policy(self, obs: Tensor) -> Distribution:
        return _FirstOnly(super().policy(obs).base_dist, 1)  # type: ignore[attr-defined]


class _FirstOnly(Independent[Normal]):
    def log_prob(self, value: Tensor) -> Tensor:
        whole: Tensor = self.base_dist.log_prob(value)
        return whole[..., 0]


@fails("WG908")
class MeanRectified(Gaussian):
    """No negative number can come out."""

    def act(self, obs: Any) -> Any:
        return super().act(obs).clip(min=self.env.action_space.low * (self.choices() == 1))


# -- WG905 again: the memory probe


@fails("Memory")
class ForgetsEveryStep(Remembering):
    def remember(self, obs: Any) -> Tensor:
        self.forget()
        return super().remember(obs)


@fails("Memory")
class MemoryNotTrained(Remembering):
    """The state is carried on, but nothing teaches the cell what to keep: it is not in the optimizer."""

    def build(self) -> None:
        super().build()
        for parameter in self.cell.parameters():
            nn.init.zeros_(parameter).requires_grad_(False)


@fails("Memory")
class LearnsWithoutHistory(Remembering):
    """Acts with what it carries along, and learns as if there were nothing."""

    def watched(self, batch: Batch) -> Tensor:
        ended = torch.ones_like(batch.terminated)
        return super().watched(batch._replace(terminated=ended))


# -- WG904 again: the two-agent probe. Values would show these mistakes earlier, so these agents have none.


class TwoPlayers(Dqn):
    """Right: every move is learned from as the move of its own player."""

    players = 2
    value = None  # type: ignore[assignment]
    turn = 0

    def walk(self, steps: int) -> list[tuple[Any, ...]]:
        out = []
        for row in super().walk(steps):
            out += self.learned(row)
            self.turn = 0 if row[4] or row[5] else 1 - self.turn
        return out

    def learned(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What is remembered of a step: observation, action, reward and so on."""
        return [row]


@fails("TwoAgents")
class SecondPlayerNeverLearns(TwoPlayers):
    def learned(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [row] if self.turn == 0 else []


@fails("TwoAgents")
class RewardAsTheFirstPlayerSeesIt(TwoPlayers):
    def learned(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        observation, action, reward, *rest = row
        return [(observation, action, reward if self.turn == 0 else -reward, *rest)]


@fails("TwoAgents")
class ActionsAsTheFirstPlayerSeesThem(TwoPlayers):
    def learned(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        observation, action, *rest = row
        return [(observation, action if self.turn == 0 else 1 - action, *rest)]

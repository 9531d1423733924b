"""The reference agents under the probes: right with every seed, and with one of their functions replaced by a wrong
one, found out by exactly the probe for it.

Takes some minutes: `make test-thorough`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from whygrad.agents import a2c, dqn, ppo, reinforce, sac
from whygrad.agents.actor_critic import ActorCritic
from whygrad.agents.environments import Environments
from whygrad.agents.spaces import Spaces
from whygrad.probe import probe
from whygrad.probe.catalogue import PROBES

AGENTS = {module.__name__: module for module in (a2c, dqn, ppo, reinforce, sac)}
ORDER = [one.code for one in PROBES[:8]]
SEEDS = range(5)


@pytest.fixture(autouse=True)
def one_core() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_passes_every_probe_that_applies(name: str, seed: int) -> None:
    report = probe(name, seed=seed, watch=False)
    assert report, str(report)
    assert {v.code for v in report.of("pass")} == set(ORDER) - ({"WG908"} if name.endswith("dqn") else set())


@pytest.mark.parametrize("name", ["whygrad.agents.ppo", "whygrad.agents.a2c", "whygrad.agents.sac"])
def test_continuous_actions_throughout(name: str) -> None:
    report = probe(name, continuous=True, watch=False)
    assert report, str(report)


@dataclass(frozen=True)
class Fault:
    code: str
    agent: Any
    where: Any
    function: str
    instead: Callable[[Any], Any]
    """From the right function to the wrong one."""

    def __str__(self) -> str:
        return f"{self.code}-{self.agent.__name__.rpartition('.')[2]}-{self.instead.__name__}"


# -- losses


def detached(right: Any) -> Any:
    return lambda first, *rest: right(first.detach(), *rest)


def weightless(right: Any) -> Any:
    return lambda *given: 0.0 * right(*given)


def negated(right: Any) -> Any:
    return lambda *given: -right(*given)


def in_a_column(right: Any) -> Any:
    return lambda value, batch: (value.unsqueeze(1) - batch.returns).square().mean()


def advantages_of_others(right: Any) -> Any:
    return lambda log_prob, batch: right(log_prob, batch._replace(advantages=batch.advantages.roll(1, 0)))


# -- Q-learning


def on_batch(**changes: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same function on transitions of which something was changed."""

    def changed(right: Any) -> Any:
        def wrong(*given: Any) -> Any:
            return right(*(_changed(part) for part in given))

        def _changed(part: Any) -> Any:
            if not hasattr(part, "terminated"):
                return part
            return part._replace(**{name: change(getattr(part, name)) for name, change in changes.items()})

        return wrong

    changed.__name__ = "_".join(changes)
    return changed


def targets_in_a_column(right: Any) -> Any:
    return lambda *given: right(*given).unsqueeze(-1)


def undiscounted(right: Any) -> Any:
    def wrong(*given: Any) -> Any:
        return right(*(1.0 if isinstance(part, float) else part for part in given))

    return wrong


# -- advantages: rewards, values, next values, terminated, ended, gamma, trace


def gamma_hard_coded(right: Any) -> Any:
    return lambda *given: right(*given[:5], 0.99, given[6])


def gamma_squared(right: Any) -> Any:
    return lambda *given: right(*given[:5], given[5] ** 2, given[6])


def no_mask(right: Any) -> Any:
    return lambda *given: right(*given[:3], torch.zeros_like(given[3]), *given[4:])


def masked_by_either(right: Any) -> Any:
    return lambda *given: right(*given[:3], given[4], *given[4:])


def returns_undiscounted(right: Any) -> Any:
    return lambda rewards, beyond, gamma: right(rewards, beyond, 1.0)


# -- the policy's input and output


def blind(right: Any) -> Any:
    return lambda self, seen, actions: right(self, torch.zeros_like(seen), actions)


def mirrored(right: Any) -> Any:
    return lambda self, seen, actions: right(self, seen * torch.tensor([-1.0, 1.0]), actions)


def first_number_only(right: Any) -> Any:
    def wrong(self: Any, seen: Any, actions: Any) -> Any:
        if self.log_std is None:
            return right(self, seen, actions)
        std = self.log_std.exp()
        each = -0.5 * ((actions - self.actor(seen)) / std).square() - std.log()
        return each[..., 0], right(self, seen, actions)[1]

    return wrong


def unscaled(right: Any) -> Any:
    return lambda self, action: right(self, action) if self.discrete else action.clip(-1, 1)


# -- the ends of episodes


def truncation_is_terminal(right: Any) -> Any:
    def wrong(self: Any, number: int, action: Any) -> Any:
        following, reward, _, ended = right(self, number, action)
        return following, reward, ended, ended

    return wrong


def goes_on_from_the_reset(right: Any) -> Any:
    def wrong(self: Any, number: int, action: Any) -> Any:
        _, reward, terminated, ended = right(self, number, action)
        return self.observations[number].copy(), reward, terminated, ended

    return wrong


FAULTS = [
    Fault("WG901", ppo, ppo, "value_loss", detached),
    Fault("WG901", a2c, a2c, "value_loss", weightless),
    Fault("WG901", reinforce, reinforce, "value_loss", negated),
    Fault("WG901", dqn, dqn, "td_loss", on_batch(rewards=torch.neg)),
    Fault("WG902", ppo, ppo, "value_loss", in_a_column),
    Fault("WG902", a2c, a2c, "value_loss", in_a_column),
    Fault("WG902", dqn, dqn, "td_target", targets_in_a_column),
    Fault("WG902", dqn, dqn, "td_loss", on_batch(observations=lambda seen: seen.roll(1, 0))),
    Fault("WG903", ppo, ppo, "gae", gamma_hard_coded),
    Fault("WG903", a2c, a2c, "gae", gamma_squared),
    Fault("WG903", reinforce, reinforce, "returns_to_go", returns_undiscounted),
    Fault("WG903", dqn, dqn, "td_target", undiscounted),
    Fault("WG903", dqn, dqn, "td_target", on_batch(terminated=torch.ones_like)),
    Fault("WG904", ppo, ppo, "clipped_surrogate_loss", negated),
    Fault("WG904", a2c, a2c, "policy_gradient_loss", weightless),
    Fault("WG904", reinforce, reinforce, "policy_gradient_loss", negated),
    Fault("WG904", dqn, dqn, "td_loss", on_batch(actions=lambda taken: 1 - taken)),
    Fault("WG905", ppo, ActorCritic, "evaluate", blind),
    Fault("WG905", ppo, ActorCritic, "evaluate", mirrored),
    Fault("WG905", a2c, ActorCritic, "evaluate", blind),
    Fault("WG905", reinforce, ActorCritic, "evaluate", mirrored),
    Fault("WG906", ppo, ppo, "gae", no_mask),
    Fault("WG906", a2c, a2c, "gae", no_mask),
    Fault("WG906", dqn, dqn, "td_target", on_batch(terminated=torch.zeros_like)),
    Fault("WG906", sac, sac, "soft_target", on_batch(terminated=torch.zeros_like)),
    Fault("WG907", ppo, ppo, "gae", masked_by_either),
    Fault("WG907", a2c, Environments, "step", truncation_is_terminal),
    Fault("WG907", dqn, Environments, "step", truncation_is_terminal),
    Fault("WG907", dqn, Environments, "step", goes_on_from_the_reset),
    Fault("WG908", ppo, Spaces, "outward", unscaled),
    Fault("WG908", a2c, ActorCritic, "evaluate", first_number_only),
    Fault("WG908", reinforce, ActorCritic, "evaluate", first_number_only),
    Fault("WG908", reinforce, Spaces, "outward", unscaled),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_fails_its_own_probe_and_no_earlier_one(
    fault: Fault, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault.where, fault.function, fault.instead(getattr(fault.where, fault.function)))
    until = [code for code in ORDER if code <= fault.code and not (code == "WG908" and fault.agent is dqn)]
    report = probe(fault.agent.__name__, only=until, seed=seed, watch=False)
    assert report.failed == [fault.code], str(report)


def test_every_probe_has_three_faults_of_its_own() -> None:
    assert all(sum(fault.code == code for fault in FAULTS) >= 3 for code in ORDER)

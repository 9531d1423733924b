"""The probes discriminate: agents that are right pass all, an agent with one fault fails the probe for it and no other.

One seed and two faults for each here; `make test-thorough` takes all of them, with several seeds.
"""

from __future__ import annotations

import pytest

from probe_agents import ActorCritic, Dqn, Gaussian, Learner, Remembering
from probe_faults import FAULTS, STEPS, TwoPlayers
from whygrad.probe import probe
from whygrad.probe.catalogue import PROBES

ORDER = [probe.code for probe in PROBES[:8]]


@pytest.mark.parametrize("agent", [Dqn, ActorCritic, Gaussian], ids=lambda a: a.__name__)
def test_an_agent_that_is_right_passes_what_applies_to_it(agent: type[Learner]) -> None:
    report = probe(agent, steps=STEPS, watch=False)
    assert report, str(report)
    asked = {verdict.code for verdict in report.of("pass")}
    assert asked == set(ORDER) - (set() if agent is Gaussian else {"WG908"})


@pytest.mark.parametrize(
    ("code", "fault"),
    [(code, fault) for code in ORDER for fault in FAULTS[code][:2]],
    ids=lambda p: p if isinstance(p, str) else p.__name__,
)
def test_a_fault_fails_its_own_probe_and_no_earlier_one(code: str, fault: type[Learner]) -> None:
    until = [c for c in ORDER if c <= code and not (c == "WG908" and issubclass(fault, Dqn))]
    report = probe(fault, only=until, steps=STEPS, watch=False)
    assert report.failed == [code], str(report)


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("a2c", ()),
        ("dqn", ("WG903", "WG905")),
        ("ppo", ("WG906", "WG908")),
        ("reinforce", ("WG903", "ActionReward")),
        ("sac", ("WG907", "WG908")),
    ],
)
def test_the_reference_agents_pass(name: str, only: tuple[str, ...]) -> None:
    """The quickest is asked everything; `make test-thorough` asks all of them."""
    report = probe(f"whygrad.agents.{name}", only=only, watch=False)
    assert report, str(report)
    assert len(report.of("pass")) == (len(only) or 8)


def test_every_probe_has_three_faults_of_its_own() -> None:
    assert set(FAULTS) == {*ORDER, "Memory", "TwoAgents"}
    assert all(len(faults) >= 3 for faults in FAULTS.values())


def test_a_memory_is_what_the_memory_probe_asks_for() -> None:
    assert probe(Remembering, only=["Memory"], steps=600, watch=False)
    faults: list[type[Learner]] = [ActorCritic, *FAULTS["Memory"]]
    for fault in faults:
        report = probe(fault, only=["Memory"], steps=300, watch=False)
        assert report.failed == ["WG905"], str(report)
        assert "remember" in str(report)


def test_two_players_are_told_apart() -> None:
    before = ["ActionReward", "ObservationActionReward"]
    assert probe(TwoPlayers, only=["TwoAgents"], steps=STEPS, watch=False)
    for fault in FAULTS["TwoAgents"]:
        report = probe(fault, only=[*before, "TwoAgents"], steps=STEPS, watch=False)
        assert [verdict.probe.name for verdict in report.of("pass")] == before, str(report)
        assert report.failed == ["WG904"], str(report)
        assert "two players" in str(report)

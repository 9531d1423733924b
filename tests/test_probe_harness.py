"""The harness: the protocol, what is left out and why, whom a failure is blamed on, and bad input."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import whygrad
from probe_agents import ActorCritic, Dqn
from probe_faults import STEPS, CriticDetached, PolicyDetached, QTargetNeverFollows, ReturnsInAColumn
from whygrad.probe import ProbeFailedError, ProtocolError, Report, probe
from whygrad.probe.harness import run
from whygrad.probe.targets import find
from whygrad.probe.training import Trained


class Knowing:
    """Knows the answers, with a gamma of its own, and learns nothing."""

    gamma = 0.5

    def __init__(self, env: Any) -> None:
        self.env = env.unwrapped

    def train(self, steps: int) -> None:
        self.steps = steps

    def act(self, observation: Any) -> Any:
        state = self._state(observation)
        pushes = {action: self.env.worth(state, self.env.push(action)) for action in (0, 1)}
        return max(pushes, key=pushes.__getitem__)

    def value(self, observation: Any) -> float:
        g = self.gamma
        known = {"only": 2.0, "left": -1.0, "right": 1.0, "empty": 0.0, "paying": 1.0, "stay": 1 / (1 - g)}
        known |= {"start": g / (1 - g), "start+": g, "start-": -g, "end+": 1.0, "end-": -1.0}
        return known[self._state(observation)]

    def _state(self, observation: Any) -> str:
        return str(next(s for s in self.env.states if (self.env.shown(s) == observation).all()))


class Mute(Knowing):
    """Without a value function."""

    value = None  # type: ignore[assignment]


def statuses(report: Report) -> dict[str, str]:
    return {verdict.probe.name: verdict.status for verdict in report.verdicts}


# -- the protocol


def test_an_agent_that_knows_passes_with_its_own_gamma() -> None:
    report = probe(Knowing, steps=7)
    assert report, str(report)
    assert {v.gamma for v in report.of("pass")} == {0.5}
    assert report.steps == 7
    report.assert_passed()


def test_gamma_and_seed_are_given_to_a_factory_that_takes_them() -> None:
    seen = []

    def make_agent(env: Any, seed: int, gamma: float) -> Any:
        seen.append((gamma, seed))
        return Knowing(env)

    probe(make_agent, only=["WG901"], seed=4)
    assert set(seen) == {(0.6, 4)}


def test_without_values_only_choices_are_asked() -> None:
    report = probe(Mute)
    assert report
    assert {v.code for v in report.of("pass")} == {"WG904", "WG905"}
    assert all("no value" in v.reason for v in report.of("skip") if v.code in ("WG901", "WG906"))


def test_pictures_are_asked_for() -> None:
    report = probe(Knowing, image=True)
    assert report
    assert report.observations == "image"


def test_an_agent_for_continuous_actions_is_recognised_by_what_it_refuses() -> None:
    def make_agent(env: Any) -> Any:
        size = env.action_space.shape[0]
        return SimpleNamespace(train=lambda steps: None, act=lambda observation: [0.0] * size)

    report = probe(make_agent, only=["WG904", "WG908"])
    assert report.actions == "continuous"
    assert report.failed == ["WG904"]
    assert statuses(report)["ContinuousAction"] == "skip"


# -- what is left out


def test_what_builds_on_a_failure_is_not_asked() -> None:
    class Wrong(Knowing):
        def value(self, observation: Any) -> float:
            return 0.0

    report = probe(Wrong)
    assert not report
    assert report.failed == ["WG901"]
    assert all(v.reason == "WG901 failed" for v in report.of("skip"))
    with pytest.raises(ProbeFailedError, match=r"error\[WG901\] value-fit"):
        report.assert_passed()


def test_only_what_is_named_is_asked_and_by_any_of_its_names() -> None:
    for name in ("WG906", "terminal", "Terminal", "whygrad/Terminal-v0"):
        assert statuses(probe(Knowing, only=[name])) == {"Terminal": "pass"}


def test_nothing_asked_is_nothing_passed() -> None:
    assert not probe(Mute, only=["WG901"])


def test_special_probes_are_for_agents_that_say_so() -> None:
    assert statuses(probe(Dqn, only=["WG904"], steps=STEPS, watch=False)) == {
        "ActionReward": "pass",
        "TwoAgents": "skip",
    }
    assert statuses(probe(Knowing, only=["TwoAgents"])) == {"TwoAgents": "pass"}


# -- whom to blame


@pytest.mark.parametrize(
    ("fault", "only", "cause", "line"),
    [
        (CriticDetached, "WG901", "WG103", "detach()"),
        (ReturnsInAColumn, "WG902", "WG401", "prediction - returns.unsqueeze(1)"),
        (PolicyDetached, "WG904", "WG103", "ratio.detach()"),
        (QTargetNeverFollows, "WG903", "WG308", ""),
    ],
)
def test_the_line_of_a_gradient_error_is_named(fault: Any, only: str, cause: str, line: str) -> None:
    report = probe(fault, only=[only], steps=200)
    [verdict] = report.of("fail")
    assert verdict.finding is not None
    assert verdict.finding.site is not None
    assert verdict.finding.evidence["cause"].startswith(f"{cause} ")
    assert verdict.finding.here.startswith(f"likely cause, {cause}")
    shown = report.source[verdict.finding.site.file][verdict.finding.site.line]
    assert line in shown
    assert shown.strip() in str(report)


def test_nobody_is_blamed_without_watching_or_without_a_finding() -> None:
    for watch in (True, False):
        report = probe(Mute, only=["WG904"], watch=watch, continuous=False)
        assert report
    [verdict] = probe(CriticDetached, only=["WG901"], steps=200, watch=False).of("fail")
    assert verdict.finding is not None
    assert verdict.finding.site is None


def test_probing_inside_a_watch_leaves_that_watch_alone() -> None:
    with whygrad.watch() as watching:
        probe(ActorCritic, only=["WG901"], steps=100)
    assert watching.report.updates > 0


# -- training that stops


def test_an_exception_in_training_is_a_failure_with_its_reason() -> None:
    class Stopping(Knowing):
        def train(self, steps: int) -> None:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    report = probe(Stopping)
    assert report.failed == ["WG901"]
    assert "RuntimeError: mat1 and mat2" in str(report)
    assert "(test_probe_harness.py:" in str(report)


def test_pytorchs_own_error_is_explained_by_its_line() -> None:
    class Cut(ActorCritic):
        def value_loss(self, prediction: Any, returns: Any) -> Any:
            return super().value_loss(prediction.detach(), returns)

        def policy_loss(self, ratio: Any, advantage: Any) -> Any:
            return super().policy_loss(ratio.detach(), advantage)

    report = probe(Cut, only=["WG901"], steps=50)
    [verdict] = report.of("fail")
    assert verdict.finding is not None
    assert "does not require grad" in verdict.finding.message
    assert verdict.finding.site is not None
    assert ".detach()" in report.source[verdict.finding.site.file][verdict.finding.site.line]


def test_an_interruption_leaves_what_is_known() -> None:
    class Patient(Knowing):
        asked = 0

        def train(self, steps: int) -> None:
            Patient.asked += 1
            if Patient.asked == 3:
                raise KeyboardInterrupt

    report = probe(Patient)
    assert report.interrupted
    assert list(statuses(report)) == ["ConstantReward", "ObservationReward"]
    assert "Interrupted" in str(report)


# -- bad input: one sentence


def wrong(**attributes: Any) -> Any:
    return lambda env: SimpleNamespace(**attributes)


@pytest.mark.parametrize(
    ("make_agent", "says"),
    [
        (lambda env: None, "returned None without train()"),
        (lambda env: 3, "returned an int without train()"),
        (wrong(train=print), "without act()"),
        (
            wrong(train=print, act=lambda o: 0.3),
            "cannot handle this action space: 0.3 is no action of Discrete",
        ),
        (wrong(train=print, act=lambda o: None), "cannot handle this action space: None is no action"),
        (wrong(train=print, act=lambda o: 0, value=lambda o: "much"), "must return one number"),
        (wrong(train=print, act=lambda o: 0, value=lambda o: 2.0, gamma=1.5), "from 0 to 1"),
        (wrong(train=print, act=lambda o: 1 / 0), "asking the trained agent failed (ZeroDivisionError"),
        ("no:thing", "there is no module 'no'"),
        (3, "cannot be called"),
    ],
)
def test_what_is_no_agent_is_said_in_a_sentence(make_agent: Any, says: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        probe(make_agent)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_action_space_that_cannot_be_handled() -> None:
    def make_agent(env: Any) -> Any:
        return SimpleNamespace(train=lambda steps: (env.reset(), env.step([0.5, 0.5])), act=lambda o: 0)

    with pytest.raises(ProtocolError, match="cannot handle this action space"):
        probe(make_agent, only=["WG904"])
    with pytest.raises(ProtocolError, match="discrete actions only"):
        probe(lambda env: env.action_space.n and Knowing(env), continuous=True)


def test_numbers_and_names_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        probe(Knowing, steps=0)
    with pytest.raises(ValueError, match="there is no probe 'wg999'"):
        probe(Knowing, only=["WG999"])


# -- targets


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "probed_here.py").write_text(
        "class Agents:\n    @staticmethod\n    def make(env): ...\ndef make_agent(env): ...\nnumber = 3\n"
    )
    (tmp_path / "probed_training.py").write_text("def train(env, *, steps, seed, **settings): ...\n")
    (tmp_path / "probed_broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "probed_raising.py").write_text("raise OSError('no data')\n")
    assert find("probed_here").__name__ == "make_agent"
    assert find("probed_here:Agents.make").__name__ == "make"
    assert find("probed_training").__name__ == "probed_training"
    for text, says in [
        ("probed_here:other", "has no 'other'"),
        ("probed_here:number", "is int, not a factory"),
        ("probed_broken", "importing probed_broken failed: No module named 'nothing_of_this_name'"),
        ("probed_raising", "OSError: no data"),
        ("math", "neither make_agent() nor train()"),
        ("sb3", "sb3:PPO"),
        (":x", "names no agent"),
        ("probed_here:", "names no agent"),
    ]:
        with pytest.raises(ProtocolError) as caught:
            find(text)
        assert says in str(caught.value)


def test_a_module_that_trains_in_one_call() -> None:
    made = []

    def train(env: Any, *, steps: int, seed: int, gamma: float) -> Any:
        made.append((steps, seed, gamma))
        knowing = Knowing(env())
        knowing.gamma = gamma
        return SimpleNamespace(policy=knowing)

    module: Any = SimpleNamespace(train=train, __name__="somewhere.trainer")
    from whygrad.probe.adapters import agents
    from whygrad.probe.answer import Settings

    report = run(Trained(agents.factory(module)), [], Settings(steps=9, seed=2))
    assert report, str(report)
    assert set(made) == {(9, 2, 0.6)}
    module.train = lambda env, **settings: SimpleNamespace(policy=SimpleNamespace(act=lambda observation: 0))
    report = run(Trained(agents.factory(module)), ["WG901"], Settings())
    assert [v.reason for v in report.of("skip")] == ["the agent has no value(observation)"]
    module.train = lambda env, **settings: None
    with pytest.raises(ProtocolError, match="without a policy"):
        run(Trained(agents.factory(module)), ["WG904"], Settings())

"""The probes as TF-Agents environments, and a DQN of TF-Agents that is asked by them."""

from __future__ import annotations

import linecache
from typing import Any

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.drivers import dynamic_step_driver
from tf_agents.environments import tf_py_environment, utils
from tf_agents.networks import q_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.utils import common

from whygrad.probe import probe
from whygrad.probe.tfagents import py_environment

PROBES = ["ActionReward", "ConstantReward", "DelayedReward", "ObservationActionReward", "Terminal", "Truncation"]


class Dqn:
    """TF-Agents' own agent, replay buffer and driver, unmodified; `wrong` sees the network's output."""

    def __init__(self, env: Any, gamma: float, wrong: Any) -> None:
        self.env = tf_py_environment.TFPyEnvironment(py_environment(env))
        self.net = Network(self.env.observation_spec(), self.env.action_spec(), wrong)
        self.agent = dqn_agent.DqnAgent(
            self.env.time_step_spec(),
            self.env.action_spec(),
            q_network=self.net,
            optimizer=tf.keras.optimizers.Adam(5e-3),
            epsilon_greedy=0.5,
            gamma=gamma,
            target_update_period=10,
            td_errors_loss_fn=common.element_wise_squared_loss,
        )
        self.agent.initialize()
        self.agent.train = common.function(self.agent.train)
        self.buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(self.agent.collect_data_spec, 1, max_length=2000)
        self.driver = dynamic_step_driver.DynamicStepDriver(
            self.env, self.agent.collect_policy, [self.buffer.add_batch], num_steps=4
        )
        self.batches = iter(self.buffer.as_dataset(sample_batch_size=64, num_steps=2))

    def train(self, steps: int) -> None:
        run = common.function(self.driver.run)
        for number in range(steps // 4):
            run()
            if number >= 8:
                self.agent.train(next(self.batches)[0])

    def values(self, observation: Any) -> Any:
        return self.net(tf.constant(observation)[None])[0].numpy()[0]

    def act(self, observation: Any) -> int:
        return int(np.argmax(self.values(observation)))

    def value(self, observation: Any) -> float:
        return float(np.max(self.values(observation)))


class Network(q_network.QNetwork):  # type: ignore[misc]
    def __init__(self, observations: Any, actions: Any, wrong: Any = None, name: str = "q_net") -> None:
        super().__init__(observations, actions, fc_layer_params=(32,), activation_fn=tf.tanh, name=name)
        self._wrong = wrong

    def call(self, observation: Any, step_type: Any = None, network_state: Any = (), training: bool = False) -> Any:
        values, state = super().call(observation, step_type, network_state, training)
        return (self._wrong(values) if self._wrong is not None else values), state


def make_agent(env: Any, gamma: float) -> Dqn:
    return Dqn(env, gamma, None)


def make_cut_agent(env: Any, gamma: float) -> Dqn:
    return Dqn(env, gamma, lambda values: tf.stop_gradient(values))


make_agent.actions = make_cut_agent.actions = "discrete"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_keeps_the_promises_of_its_specs(name: str) -> None:
    utils.validate_py_environment(py_environment(name, seed=0), episodes=20)


@pytest.mark.parametrize("options", [{"image": True}, {"continuous": True}])
def test_pictures_and_continuous_actions_have_specs_as_well(options: dict[str, bool]) -> None:
    utils.validate_py_environment(py_environment("ObservationActionReward", seed=0, **options), episodes=5)


def test_an_end_has_no_discount_and_a_time_limit_has() -> None:
    ended, cut_off = py_environment("Terminal", seed=0), py_environment("Truncation", seed=0)
    assert ended.reset().is_first()
    last = ended.step(np.int64(0))
    assert (bool(last.is_last()), float(last.discount)) == (True, 0.0)
    assert ended.step(np.int64(0)).is_first()
    cut_off.reset()
    steps = [cut_off.step(np.int64(0)) for _ in range(2)]
    assert [(bool(step.is_last()), float(step.discount)) for step in steps] == [(False, 1.0), (True, 1.0)]


def test_options_and_spaces_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="this one is made already"):
        py_environment(gymnasium.make("whygrad/Terminal-v0"), image=True)
    with pytest.raises(ValueError, match="neither one array nor one choice"):
        py_environment(_TwoChoices())


class _TwoChoices(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
    action_space = gymnasium.spaces.MultiDiscrete([2, 2])


def test_a_dqn_of_tf_agents_passes() -> None:
    report = probe(make_agent, only=["WG902", "WG905", "WG906", "WG907"])
    report.assert_passed()
    assert [verdict.probe.code for verdict in report.of("pass")] == ["WG902", "WG905", "WG906", "WG907"]


def test_a_dqn_that_is_cut_fails_at_the_line_that_cuts_it() -> None:
    report = probe(make_cut_agent, only=["WG902"])
    (verdict,) = report.verdicts
    assert verdict.status == "fail"
    assert verdict.finding is not None
    assert verdict.finding.site is not None
    assert verdict.finding.site.file == __file__
    assert "stop_gradient" in linecache.getline(__file__, verdict.finding.site.line)

"""The probe environments: what they are said to be, checked by hand and by gymnasium's own checker."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import whygrad.probe  # noqa: F401  (registers the ids)
from whygrad.probe.environments.environment import ActionError, ProbeEnv
from whygrad.probe.registration import HOMES, identity

KINDS = [{}, {"image": True}, {"continuous": True}, {"image": True, "continuous": True}]


def made(name: str, **options: Any) -> ProbeEnv:
    env = gymnasium.make(identity(name), **options).unwrapped
    assert isinstance(env, ProbeEnv)
    return env


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized.*")
@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("name", HOMES)
def test_gymnasium_has_nothing_to_say_against_it(name: str, options: dict[str, bool]) -> None:
    check_env(made(name, **options), skip_render_check=True)


@pytest.mark.parametrize("name", HOMES)
def test_states_look_different_in_a_picture_too(name: str) -> None:
    env = made(name, image=True)
    seen = {env.shown(state).tobytes() for state in env.states}
    assert len(seen) == len(env.states)
    assert env.observation_space.contains(env.shown(next(iter(env.states))))


def played(env: ProbeEnv, episodes: int, action: Any = 1) -> list[list[tuple[str, float, bool, bool, str]]]:
    """Episodes as (state, reward, terminated, truncated, next state)."""
    out = []
    env.reset(seed=3)
    for _ in range(episodes):
        steps, ended = [], False
        while not ended:
            before = env.state
            _, reward, terminated, truncated, _ = env.step(action)
            steps.append((before, reward, terminated, truncated, env.state))
            ended = terminated or truncated
        out.append(steps)
        env.reset()
    return out


def test_constant_reward() -> None:
    assert played(made("ConstantReward"), 2) == [[("only", 2.0, True, False, "only")]] * 2


def test_observation_reward_has_a_mean_of_zero_and_so_has_what_follows() -> None:
    steps = [step for episode in played(made("ObservationReward"), 400) for step in episode]
    assert {(state, reward) for state, reward, *_ in steps} == {("left", -1.0), ("right", 1.0)}
    assert abs(np.mean([reward for _, reward, *_ in steps])) < 0.15
    for state in ("left", "right"):
        after = [following for before, *_, following in steps if before == state]
        assert 0.4 < after.count("left") / len(after) < 0.6


def test_delayed_reward() -> None:
    for first, second in played(made("DelayedReward"), 20):
        sign = first[0][-1]
        assert first == (f"start{sign}", 0.0, False, False, f"end{sign}")
        assert second[:4] == (f"end{sign}", 1.0 if sign == "+" else -1.0, True, False)


@pytest.mark.parametrize(("better", "rewards"), [("low", (1.0, -1.0)), ("high", (-1.0, 1.0))])
def test_action_reward(better: str, rewards: tuple[float, float]) -> None:
    env = made("ActionReward", better=better)
    assert tuple(played(env, 1, action)[0][0][1] for action in (0, 1)) == rewards
    smooth = made("ActionReward", better=better, continuous=True)
    assert played(smooth, 1, np.array([0.25], np.float32))[0][0][1] == rewards[1] * 0.25


@pytest.mark.parametrize(("better", "sign"), [("straight", 1.0), ("crossed", -1.0)])
def test_observation_action_reward(better: str, sign: float) -> None:
    env = made("ObservationActionReward", better=better)
    for (state, reward, *_), *_ in played(env, 20, 1):
        assert reward == (sign if state.startswith("right") else -sign)


def test_terminal_shows_the_paying_state_at_the_end() -> None:
    steps = {step for episode in played(made("Terminal"), 30) for step in episode}
    assert steps == {("empty", 0.0, True, False, "paying"), ("paying", 1.0, True, False, "paying")}


def test_truncation_ends_without_an_end() -> None:
    expected = [("start", 0.0, False, False, "stay"), ("stay", 1.0, False, True, "stay")]
    assert played(made("Truncation"), 2) == [expected] * 2


def test_continuous_action_is_best_at_one_place() -> None:
    env = made("ContinuousAction")
    best = played(env, 1, np.array([2.5, -0.5], np.float32))[0][0][1]
    assert best == 1.0
    assert played(made("ContinuousAction", mirrored=True), 1, np.array([-2.5, 0.5], np.float32))[0][0][1] == 1.0
    for off in ([3.0, -0.5], [2.0, 0.5], [-4.0, 1.0]):
        assert played(env, 1, np.array(off, np.float32))[0][0][1] < best


def test_memory_pays_for_the_cue_of_two_steps_ago() -> None:
    for first, second, third in played(made("Memory"), 20, 1):
        assert (second[0], third[0]) == ("wait", "answer")
        assert third[1:4] == (1.0 if first[0] == "right" else -1.0, True, False)


def test_two_agents_move_in_turn() -> None:
    first, second = played(made("TwoAgents"), 1, 1)[0]
    assert first == ("first player", 1.0, False, False, "second player")
    assert second == ("second player", -1.0, True, False, "first player")


def test_the_same_seed_is_the_same_walk() -> None:
    assert played(made("DelayedReward"), 20) == played(made("DelayedReward"), 20)
    one, other = (made("ObservationReward", seed=7) for _ in range(2))
    assert [one.reset()[0].tolist() for _ in range(20)] == [other.reset()[0].tolist() for _ in range(20)]


@pytest.mark.parametrize("action", [2, -1, 0.5, [0, 1], float("nan")])
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = made("ActionReward")
    env.reset()
    with pytest.raises(ActionError, match="no action of Discrete"):
        env.step(action)


def test_continuous_actions_are_kept_within_their_bounds() -> None:
    env = made("ActionReward", continuous=True)
    env.reset()
    assert env.step([5.0])[1] == 1.0
    with pytest.raises(ActionError):
        env.step([float("nan")])


def test_an_unknown_argument_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="'low' or 'high'"):
        made("ActionReward", better="middle")


def test_the_module_in_front_of_an_id_is_enough_for_gymnasium() -> None:
    code = "import gymnasium; print(gymnasium.make('whygrad.probe:whygrad/Terminal-v0').reset(seed=0)[0].shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "(2,)\n", done.stderr


def test_gymnasium_missing_is_one_sentence_and_pages_do_not_need_it() -> None:
    hidden = "import sys; sys.modules['gymnasium'] = None; from whygrad.cli.main import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden} sys.exit(main(['probe', 'mine:make_agent']))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    [row] = done.stderr.splitlines()
    assert row.startswith('whygrad: probing needs gymnasium: pip install "whygrad[probe]"')
    code = f"{hidden} sys.exit(main(['explain', 'WG903']) or main(['rules']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "WG908  continuous-action" in done.stdout

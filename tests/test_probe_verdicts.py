"""What numbers mean: the verdicts on their own, without environments or agents."""

from __future__ import annotations

import math
from types import ModuleType

import pytest

from whygrad import verdicts
from whygrad.catalogue import NAMES
from whygrad.verdicts import (
    wg901_value_fit,
    wg902_value_input,
    wg903_discount,
    wg904_policy_direction,
    wg905_policy_input,
    wg906_terminal,
    wg907_truncation,
    wg908_continuous_action,
)
from whygrad.verdicts.judged import Judged

GAMMA = 0.6


def placed(first: float, second: float) -> dict[str, float]:
    """A policy that moves with the mirror."""
    return {"action[0]": first, "action[1]": second, "mirrored action[0]": -first, "mirrored action[1]": -second}


def discounted(by: float) -> dict[str, float]:
    return {"V(start+)": by, "V(end+)": 1.0, "V(start-)": -by, "V(end-)": -1.0}


RIGHT: dict[ModuleType, dict[str, float]] = {
    wg901_value_fit: {"V(only)": 2.0},
    wg902_value_input: {"V(left)": -1.0, "V(right)": 1.0},
    wg903_discount: discounted(GAMMA),
    wg904_policy_direction: {"reward(low is better)": 1.0, "reward(high is better)": 1.0},
    wg905_policy_input: {"reward(left)": 1.0, "reward(right)": 1.0},
    wg906_terminal: {"V(empty)": 0.0, "V(paying)": 1.0},
    wg907_truncation: {"V(start)": 1.5, "V(stay)": 2.5},
    wg908_continuous_action: placed(2.5, -0.5),
}

WRONG: list[tuple[ModuleType, dict[str, float], str, str]] = [
    (wg901_value_fit, {"V(only)": 0.1}, "does not find a constant reward", "in an optimizer"),
    (wg901_value_fit, {"V(only)": -2.0}, "does not find", "sign"),
    (wg901_value_fit, {"V(only)": 0.99}, "does not find", "bounded"),
    (wg901_value_fit, {"V(only)": 7.0}, "does not find", "larger than"),
    (wg902_value_input, {"V(left)": 0.0, "V(right)": 0.0}, "ignores the observation", "(N, 1)"),
    (wg902_value_input, {"V(left)": 1.0, "V(right)": -1.0}, "another reward", "stored with the observation"),
    (wg902_value_input, {"V(left)": -0.5, "V(right)": 0.5}, "another reward", "--steps"),
    (wg903_discount, discounted(0.0), "counts 0.00", "next observation"),
    (wg903_discount, discounted(1.0), "counts 1.00", "multiply the next value by gamma"),
    (wg903_discount, discounted(GAMMA**2), "counts 0.36", "applied twice"),
    (wg903_discount, discounted(0.8), "counts 0.80", "the gamma of the target"),
    (wg903_discount, {**discounted(0.6), "V(end+)": 0.2}, "last step before the end", "end flag"),
    (wg904_policy_direction, {"a": -1.0, "b": -1.0}, "moves away", "sign"),
    (wg904_policy_direction, {"a": -1.0, "b": 1.0}, "does not move", "optimizer"),
    (wg905_policy_input, {"a": -1.0, "b": 1.0}, "ignores the observation", "reach the policy"),
    (wg905_policy_input, {"a": -1.0, "b": -1.0}, "worse action", "off by one"),
    (wg906_terminal, {"V(empty)": 1.5, "V(paying)": 2.5}, "bootstrap past a terminal", "(1 - terminated)"),
    (wg906_terminal, {"V(empty)": 0.75, "V(paying)": 1.75}, "bootstrap past a terminal", "(1 - terminated)"),
    (wg906_terminal, {"V(empty)": 0.0, "V(paying)": 0.0}, "not valued at its reward", "mask"),
    (wg907_truncation, {"V(start)": 0.6, "V(stay)": 1.0}, "treated as a terminal", "`terminated` alone"),
    (wg907_truncation, {"V(start)": 0.94, "V(stay)": 1.56}, "from the next episode", "final_obs"),
    (wg907_truncation, {"V(start)": 2.0, "V(stay)": 4.0}, "grow past", "counted twice"),
    (wg908_continuous_action, placed(1.0, -0.5), "does not find", "scale the action"),
    (wg908_continuous_action, placed(2.5, 0.4), "does not find", "sum the log-probability"),
    (wg908_continuous_action, {**placed(2.5, -0.5), "mirrored action[1]": -0.5}, "does not find", "sum"),
    (wg908_continuous_action, placed(5.0, -1.0), "does not find", "bound"),
    (wg908_continuous_action, placed(0.1, 0.1), "does not find", "log-probability"),
]


def judged(module: ModuleType, observed: dict[str, float], gamma: float = GAMMA) -> Judged:
    answer = module.judge(observed, gamma)
    assert isinstance(answer, Judged)
    return answer


@pytest.mark.parametrize("module", RIGHT, ids=lambda m: str(m.CODE))
def test_what_can_be_worked_out_by_hand_is_passed(module: ModuleType) -> None:
    answer = judged(module, RIGHT[module])
    assert answer.passed
    assert not answer.remark
    assert all(math.isclose(answer.expected[name], value) for name, value in RIGHT[module].items())


@pytest.mark.parametrize(("module", "observed", "says", "advises"), WRONG)
def test_what_a_failure_says(module: ModuleType, observed: dict[str, float], says: str, advises: str) -> None:
    answer = judged(module, observed)
    assert not answer.passed
    assert says in answer.message
    assert advises in answer.fix
    assert answer.why.endswith(".")
    assert not answer.message.endswith(".")


@pytest.mark.parametrize("module", RIGHT, ids=lambda m: str(m.CODE))
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_never_passed(module: ModuleType, number: float) -> None:
    for name in RIGHT[module]:
        answer = judged(module, {**RIGHT[module], name: number})
        assert not answer.passed
        assert "not finite" in answer.message


def test_a_value_past_the_end_is_left_to_the_terminal_probe() -> None:
    answer = judged(wg901_value_fit, {"V(only)": 5.0})
    assert answer.passed
    assert "WG906" in answer.remark


def test_a_gamma_near_one_blunts_two_probes_and_that_is_said() -> None:
    assert "would look the same" in judged(wg903_discount, discounted(1.0), 0.99).remark
    assert not judged(wg903_discount, discounted(0.5), 0.99).passed
    assert "on its way" in judged(wg907_truncation, {"V(start)": 20.0, "V(stay)": 22.0}, 0.99).remark
    assert not judged(wg907_truncation, {"V(start)": 0.99, "V(stay)": 1.0}, 0.99).passed


def test_the_other_probes_of_a_code_have_their_own_words() -> None:
    memory = wg905_policy_input.judge_memory({"reward(left)": 1.0, "reward(right)": -1.0}, GAMMA)
    assert "remember" in memory.message
    two = wg904_policy_direction.judge_two({"reward(first player)": 1.0, "reward(second player)": -1.0}, GAMMA)
    assert "two players" in two.message


def test_every_code_of_the_family_has_a_page() -> None:
    wanted = {code: name for code, name in NAMES.items() if code.startswith("WG9")}
    assert {code: page.name for code, page in verdicts.pages().items()} == wanted
    for page in verdicts.pages().values():
        assert 20 < len(page.summary) <= 110
        assert page.summary.endswith(".")
        assert "Passed when" in page.documentation
        assert page.documentation.isascii()

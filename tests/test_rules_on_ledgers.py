"""The bookkeeping rules as pure functions over hand-written ledgers, without torch."""

from __future__ import annotations

import pytest

from building import site
from whygrad.engine import diagnose
from whygrad.finding import Finding
from whygrad.trace import Backward, Clear, Clip, Optimizer, Parameter, Step, Trace

NET = frozenset({0, 1})


class Ledger:
    """Events in order: `zero`, `backward`, `clip`, `step`, each on its own line."""

    def __init__(self, optimizers: tuple[tuple[int, ...], ...] = ((0, 1),)) -> None:
        self.trace = Trace()
        for number in range(4):
            name = f"{'net' if number < 2 else 'other'}.{number % 2}"
            self.trace.parameters.append(Parameter(number, name, name.split(".")[0], (2, 2), used=True))
        for index, held in enumerate(optimizers):
            self.trace.optimizers.append(Optimizer(index, f"optimizer{index}", site(3 + index), (), held))
        self.deposits: dict[int, list[int]] = {n: [] for n in range(4)}
        self._order = 0

    def _tick(self) -> int:
        self._order += 1
        return self._order

    def backward(self, line: int = 20, on: frozenset[int] = NET, largest: float | None = None) -> Ledger:
        found = Backward(len(self.trace.backwards) + 1, site(line), None, "loss", on, made=site(line - 5))
        found.largest = {} if largest is None else dict.fromkeys(on, largest)
        found.order, found.update = self._tick(), self.trace.updates
        self.trace.backwards.append(found)
        for number in on:
            self.deposits[number].append(found.id)
        return self

    def zero(self, line: int = 10, on: frozenset[int] = NET) -> Ledger:
        lost = {n: tuple(self.deposits[n]) for n in on if self.deposits[n]}
        self.trace.clears.append(Clear(site(line), on, self._tick(), lost))
        for number in on:
            self.deposits[number].clear()
        return self

    def clip(self, line: int = 30, on: frozenset[int] = NET, limit: float = 1.0, size: float = 2.0) -> Ledger:
        present = frozenset(n for n in on if self.deposits[n])
        self.trace.clips.append(Clip(site(line), on, limit, self._tick(), "norm", present, size if present else None))
        return self

    def step(self, line: int = 40, optimizer: int = 0, changed: bool | None = True) -> Ledger:
        held = self.trace.optimizers[optimizer]
        consumed = {n: tuple(self.deposits[n]) for n in held.parameters if self.deposits[n]}
        self.trace.steps.append(
            Step(optimizer, site(line), consumed, self._tick(), changed=changed if consumed else None)
        )
        held.steps += 1
        self.trace.updates += 1
        self.trace.steps[-1].update = self.trace.updates
        for number in consumed:
            row = self.trace.parameters[number]
            row.consumed, row.absent, row.grad, row.changed = row.consumed + 1, False, "nonzero", True
        return self

    def loud(self) -> list[Finding]:
        return [f for f in diagnose(self.trace) if f.loud]

    def codes(self) -> list[tuple[str, int]]:
        return [(f.code, f.site.line if f.site is not None else 0) for f in self.loud()]


def test_the_usual_order_is_silent() -> None:
    ledger = Ledger()
    for _ in range(5):
        ledger.zero().backward().clip().step()
    assert ledger.codes() == []


def test_clearing_after_the_step_is_as_good() -> None:
    ledger = Ledger()
    for _ in range(5):
        ledger.backward().clip().step().zero(line=45)
    assert ledger.codes() == []


def test_never_cleared() -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.backward().step()
    assert ledger.codes() == [("WG301", 40)]
    assert ledger.loud()[0].evidence["summed_backwards"] == 4


def test_step_before_backward_and_cleared_in_between() -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.zero().step().backward()
    assert ledger.codes() == [("WG302", 40)]


def test_cleared_between_backward_and_step() -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.backward().zero(line=25).step()
    assert ledger.codes() == [("WG303", 25)]


def test_only_the_last_micro_batch_survives() -> None:
    ledger = Ledger()
    for _ in range(3):
        for _ in range(4):
            ledger.zero().backward()
        ledger.step()
    assert ledger.codes() == [("WG303", 10)]
    assert ledger.loud()[0].evidence == {"discarded": 9, "consumed": 3, "first_update": 1, "last_update": 3}


def test_another_loss_discarded_by_the_owners_clearing_is_no_loss() -> None:
    """SAC: the actor loss deposits on the critic, and the critic's zero_grad throws it away."""
    ledger = Ledger(((0, 1), (2, 3)))
    actor = frozenset({2, 3})
    for _ in range(4):
        ledger.zero().backward(20).step(21)
        ledger.zero(30, actor).backward(31, actor | NET).step(32, 1)
    assert ledger.codes() == []


@pytest.mark.parametrize(("order", "verdict"), [("before", "before-backward"), ("after", "after-step")])
def test_clip_on_the_wrong_side(order: str, verdict: str) -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.zero()
        if order == "before":
            ledger.clip().backward().step()
        else:
            ledger.backward().step().clip()
    assert ledger.codes() == [("WG304", 30)]
    assert ledger.loud()[0].evidence["verdict"] == verdict


def test_clip_of_a_network_that_is_not_stepped_next() -> None:
    ledger = Ledger(((0, 1), (2, 3)))
    other = frozenset({2, 3})
    for _ in range(4):
        ledger.zero().backward(20).step(21)
        ledger.zero(30, other).backward(31, other | NET).clip(33, NET).step(34, 1)
    assert ledger.codes() == [("WG304", 33)]


@pytest.mark.parametrize(("limit", "size"), [(0.0, 2.0), (-1.0, 2.0), (float("nan"), 2.0), (1e-4, 5.0)])
def test_degenerate_limit(limit: float, size: float) -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.zero().backward().clip(limit=limit, size=size).step()
    assert ledger.codes() == [("WG305", 30)]


@pytest.mark.parametrize(("limit", "size"), [(0.5, 100.0), (float("inf"), 3.0), (1e-2, 5.0)])
def test_strict_limits_and_logging_are_choices(limit: float, size: float) -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.zero().backward().clip(limit=limit, size=size).step()
    assert ledger.codes() == []


def test_two_optimizers_on_one_gradient() -> None:
    ledger = Ledger(((0, 1), (0, 1)))
    for _ in range(4):
        ledger.zero().backward().step(40).step(41, 1)
    assert ledger.codes() == [("WG306", 4)]


def test_two_optimizers_that_take_turns() -> None:
    ledger = Ledger(((0, 1), (0, 1)))
    for _ in range(4):
        ledger.zero().backward(20).step(40).zero(12).backward(22).step(41, 1)
    assert ledger.codes() == []


def test_steps_that_move_nothing() -> None:
    ledger = Ledger()
    for _ in range(4):
        ledger.zero().backward().step(changed=False)
    assert ledger.codes() == [("WG309", 40)]


def test_a_warm_up_from_zero_is_fine() -> None:
    ledger = Ledger()
    for index in range(5):
        ledger.zero().backward().step(changed=index > 0)
    assert ledger.codes() == []


@pytest.mark.parametrize("moved", [True, False])
def test_weights_that_have_arrived_are_not_stuck(moved: bool) -> None:
    """The loss is as low as it gets: what is left of the gradient is lost in rounding."""
    ledger = Ledger()
    if moved:
        ledger.zero().backward(largest=2.0).step()
    for _ in range(6):
        ledger.zero().backward(largest=1e-4 if moved else 1e-7).step(changed=False)
    assert ledger.codes() == []


def test_the_rate_is_that_of_the_steps_that_changed_nothing() -> None:
    """The script set it to zero for a while, maybe on purpose; at the end it is another one."""
    ledger = Ledger()
    ledger.trace.optimizers[0].rates = (0.001,)
    for index in range(12):
        ledger.zero().backward().step(changed=index >= 6)
        ledger.trace.steps[-1].rates = (0.0,) if index < 6 else (0.001,)
    (found,) = diagnose(ledger.trace)
    assert (found.code, found.severity, found.evidence["learning_rates"]) == ("WG309", "note", [0.0])
    assert "until update 6" in found.message
    assert found.message.endswith("its learning rate is 0")


def test_updates_that_were_lost_for_a_while_stay_lost() -> None:
    ledger = Ledger()
    for index in range(12):
        ledger.zero().backward().step(changed=index >= 6)
        ledger.trace.steps[-1].rates = (1e-9,) if index < 6 else (0.001,)
    (found,) = ledger.loud()
    assert (found.code, found.evidence["learning_rates"]) == ("WG309", [1e-9])
    assert "until update 6" in found.seen


@pytest.mark.parametrize(("rates", "least"), [((0.0,), 1e-7), ((1e-9,), 0.5)])
def test_a_gradient_that_is_there_and_lost_is_still_said(rates: tuple[float, ...], least: float) -> None:
    ledger = Ledger()
    ledger.trace.optimizers[0].rates = rates
    ledger.zero().backward(largest=2.0).step()
    for _ in range(6):
        ledger.zero().backward(largest=least).step(changed=False)
    assert ledger.codes() == [("WG309", 40)]


def test_an_optimizer_that_never_steps() -> None:
    ledger = Ledger(((0, 1), (2, 3)))
    everything = NET | {2, 3}
    for _ in range(5):
        ledger.zero(on=everything).backward(on=everything).step()
    assert ledger.codes() == [("WG315", 4)]

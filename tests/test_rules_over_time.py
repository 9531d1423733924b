"""What a few updates prove is said however long the run goes on, and what begins or ends later is dated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from building import Building
from test_rules_on_ledgers import NET, Ledger
from whygrad import wording
from whygrad.engine import diagnose
from whygrad.trace import Kind
from whygrad.trace.fading import telling
from whygrad.trace.spells import Spell, spell

LOOKS = (20, 40, 80, 160, 400, 1000, 2500, 6250)
"""Updates after which one more is traced."""
FIRST = 5
LENGTHS = (5, 30, 90, 500, 3000, 10_000)


class Watched(Ledger):
    """A ledger with gaps: the first updates are traced, and then one now and then, from step to step."""

    def run(self, updates: int, update: Callable[[Watched, int], None]) -> Watched:
        for _ in range(min(updates, FIRST)):
            update(self, self.trace.updates)
        for look in (look for look in LOOKS if look < updates):
            self.trace.updates = look
            before = {n for n, ids in self.deposits.items() if ids}  # What the step at which tracing begins applies.
            self.trace.openings.append(self._order)
            self.uncleared = before
            update(self, look)
            self.trace.steps[-1].leftover = frozenset(self.uncleared)
        self.trace.updates = updates
        return self

    uncleared: set[int]

    def zero(self, line: int = 10, on: frozenset[int] = NET) -> Watched:
        super().zero(line, on)
        self.uncleared = set()
        return self

    def backward(self, line: int = 20, on: frozenset[int] = NET, largest: float | None = None) -> Watched:
        super().backward(line, on, largest)
        return self


def _forgetful(begin: int, end: int) -> Callable[[Watched, int], None]:
    """No clearing from one update on, up to another one."""

    def update(ledger: Watched, number: int) -> None:
        if not begin <= number < end:
            ledger.zero()
        elif ledger.trace.openings and ledger.trace.openings[-1] == ledger._order:
            for ids in ledger.deposits.values():
                ids.clear()  # Which backwards it came from is not known any more.
        ledger.backward().step()

    return update


@pytest.mark.parametrize("updates", LENGTHS)
def test_a_loop_without_clearing_is_one_at_any_length(updates: int) -> None:
    ledger = Watched().run(updates, _forgetful(0, updates))
    assert ledger.codes() == [("WG301", 40)]
    found = ledger.loud()[0]
    assert found.evidence["stale_steps"] == found.evidence["steps"]
    assert "first seen" not in found.seen
    assert "last seen" not in found.seen


@pytest.mark.parametrize("updates", LENGTHS)
def test_the_usual_order_is_silent_at_any_length(updates: int) -> None:
    assert Watched().run(updates, _forgetful(updates, updates)).codes() == []


def test_clearing_that_is_forgotten_later_is_dated() -> None:
    ledger = Watched().run(10_000, _forgetful(700, 10_000))
    assert ledger.codes() == [("WG301", 40)]
    found = ledger.loud()[0]
    assert "first seen at update 1001 (at update 401 not yet)" in found.seen
    assert (found.evidence["first_update"], found.evidence["last_update"]) == (1001, 6251)


def test_clearing_that_is_forgotten_for_a_while_is_dated() -> None:
    found = Watched().run(10_000, _forgetful(0, 300)).loud()[0]
    assert found.code == "WG301"
    assert "last seen at update 161 (at update 401 no more)" in found.seen


def test_one_stale_step_between_two_phases_is_no_fault() -> None:
    assert Watched().run(10_000, _forgetful(400, 401)).codes() == []


def test_a_single_update_whose_past_is_unknown_shows_nothing() -> None:
    """It must not dilute what the others show, nor be evidence itself."""
    ledger = Watched().run(10_000, _forgetful(0, 10_000))
    for step in ledger.trace.steps[FIRST:]:
        step.leftover = None
    assert ledger.codes() == [("WG301", 40)]
    assert ledger.loud()[0].evidence["steps"] == FIRST - 1


@pytest.mark.parametrize(("begin", "end", "said"), [(300, 10_000, "first seen"), (0, 300, "last seen")])
def test_micro_batches_that_are_thrown_away_in_a_part_of_the_run(begin: int, end: int, said: str) -> None:
    def update(ledger: Watched, number: int) -> None:
        ledger.zero()
        for _ in range(4):
            if begin <= number < end:
                ledger.zero()
            ledger.backward()
        ledger.step()

    ledger = Watched().run(10_000, update)
    assert ledger.codes() == [("WG303", 10)]
    assert said in ledger.loud()[0].seen


def test_a_loss_given_up_now_and_then_is_no_fault() -> None:
    """A backward without a step, before the next clearing: the update was broken off on purpose."""

    def update(ledger: Watched, number: int) -> None:
        if number in (40, 160, 1000):
            ledger.zero().backward()
        ledger.zero().backward().step()

    assert Watched().run(10_000, update).codes() == []


def _actor_critic(detached: Callable[[int], bool], looks: tuple[int, ...]) -> Building:
    """One loss of two terms, the first of which loses its history in some updates."""
    build = Building()
    actor, critic = build.parameter("actor.weight"), build.parameter("critic.weight")
    optimizer = build.optimizer("optimizer", actor, critic)
    for look in looks:
        build.trace.updates = look
        data = build.op("input", line=5, kind=Kind.INPUT)
        score = build.op("log_softmax", build.linear(actor, data, line=10), line=11)
        if detached(look):
            score = build.op("detach", score, line=12, kind=Kind.DETACH)
        policy = build.op("mean", build.op("mul", score, data, line=13), line=13)
        value = build.op("mean", build.op("pow", build.linear(critic, data, line=14), line=15), line=15)
        build.update(build.op("add", policy, value, line=16), optimizer)
    return build


ALL = (0, 1, 2, 3, 4, *LOOKS)


@pytest.mark.parametrize(
    ("detached", "dated"),
    [
        (lambda update: update >= 700, "first seen at update 1001 (at update 401 not yet)"),
        (lambda update: update < 300, "last seen at update 161 (at update 401 no more)"),
        (lambda update: update < 3, "until update 3"),
    ],
)
def test_a_term_that_is_cut_in_a_part_of_the_run(detached: Callable[[int], bool], dated: str) -> None:
    found = [f for f in diagnose(_actor_critic(detached, ALL).trace) if f.loud]
    assert [(f.code, f.site.line if f.site else 0) for f in found] == [("WG103", 12)]
    assert found[0].parameters == ["actor.weight"]
    assert dated in found[0].seen


@pytest.mark.parametrize("once", [0, 80, 6250])
def test_a_term_without_gradient_in_one_update_only_is_not_judged(once: int) -> None:
    assert telling(_actor_critic(lambda update: update == once, ALL).trace) == []


def test_words_claim_no_more_than_the_looks_do() -> None:
    assert wording.dated(Spell(5, 9, None, None, 3, 3)) == ""
    assert wording.dated(Spell(5, 9, 4, 10, 5, 5)) == "from update 5 on, until update 9"
    assert wording.dated(Spell(5, 9, 4, None, 3, 5)) == "first seen at update 5 (at update 4 not yet)"


def test_the_longest_part_with_enough_looks_is_the_spell() -> None:
    looks = [(1, False), (2, True), (3, True), (4, True), (5, False), (9, False), (12, False), (20, True)]
    assert spell(looks, 2) == Spell(2, 20, 1, None, 4, 7)
    assert spell(looks, 2, against=2) == Spell(2, 4, 1, 5, 3, 3)
    assert spell(looks[:1] + looks[5:], 2) is None
    assert spell([], 1) is None

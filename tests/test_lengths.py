"""A sample of scripts says the same when it goes on ten times as long; the whole set is `python tests/lengths.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lengthening
import lengths
from script_cases import Nursery

SAMPLE = ("WG101", "WG301", "WG302", "WG303", "WG315")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    found = Nursery(*lengths.IMPORTED)
    yield found
    found.close()


@pytest.mark.parametrize("case", [c for c in lengths.cases() if c.name in SAMPLE], ids=lambda c: f"{c.name}-{c.script}")
def test_ten_times_as_many_updates_change_no_answer(case: lengths.Case, nursery: Nursery) -> None:
    found = lengths.outcome(case, 10, nursery)
    assert not found.unchanged
    assert found.same, found.said()
    assert found.short is not None
    assert bool(found.short.found) == (case.script == "bad.py")


LATE = """\
import torch; torch.manual_seed(0)
actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=1e-6)
for update in range(1200):
    obs, gained = torch.randn(8, 4), torch.randn(8)
    log_prob, value = torch.log_softmax(actor(obs), -1)[:, 0], critic(obs).squeeze(-1)
    if CUT:
        log_prob = log_prob.detach()
    loss = (value - gained).pow(2).mean() - (log_prob * (gained - value.detach())).mean()
    if CLEARED:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("cut", "cleared", "expected"),
    [
        ("update >= 500", "True", ("WG103", 8)),
        ("update < 300", "True", ("WG103", 8)),
        ("False", "update < 300", ("WG301", 13)),
        ("False", "update >= 300", ("WG301", 13)),
        ("False", "True", None),
    ],
)
def test_what_holds_for_a_part_of_the_run(
    cut: str, cleared: str, expected: tuple[str, int] | None, nursery: Nursery
) -> None:
    code = LATE.replace("CUT", cut).replace("CLEARED", cleared)
    ended = lengths.ended(lengths.Case("late", "bad.py", {"bad.py": code}), {"bad.py": code}, nursery, 1)
    assert ended is not None
    assert {(code, line) for code, _, _, line in ended.found} == ({expected} if expected is not None else set())


def _lengthened(source: str) -> list[str]:
    program = lengthening.Program("train.py", {"train.py": source})
    return [files["train.py"] for files in lengthening.lengthened(program, 10)]


LOOP = "\n    loss.backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (f"for _ in range(4):{LOOP}", f"for _ in range(40):{LOOP}"),
        (f"for i in range(2, 40, 2):{LOOP}", f"for i in range(2, 400, 2):{LOOP}"),
        (f"N = 40\nrate = 1 / N\nfor i in range(N):{LOOP}", f"N = 400\nrate = 1 / N\nfor i in range(N):{LOOP}"),
        (f"for i in tqdm(range(40)):{LOOP}", f"for i in tqdm(range(400)):{LOOP}"),
        (f"while steps < 40:{LOOP}", f"while steps < 400:{LOOP}"),
        (f"for i in range(total // 2):{LOOP}", f"for i in range((total // 2) * 10):{LOOP}"),
        (
            f'parser.add_argument("--updates", default=7)\nfor i in range(args.updates):{LOOP}',
            f'parser.add_argument("--updates", default=70)\nfor i in range(args.updates):{LOOP}',
        ),
    ],
)
def test_the_length_is_changed_where_it_is_written(short: str, long: str) -> None:
    assert _lengthened(short)[0] == long


def test_the_outermost_loop_comes_first_also_through_functions() -> None:
    inside = "def learn(epochs=3):\n    for _ in range(epochs):\n        loss.backward()\n"
    found = _lengthened(f"{inside}for _ in range(20):\n    learn()\n")
    assert found == [
        f"{inside}for _ in range(200):\n    learn()\n",
        f"{inside.replace('3', '30')}for _ in range(20):\n    learn()\n",
    ]


@pytest.mark.parametrize(
    "source", ["for batch in loader:\n    loss.backward()\n", "for _ in range(9):\n    env.step(action)\n"]
)
def test_a_script_without_such_a_loop_is_left_out(source: str) -> None:
    assert _lengthened(source) == []


def test_scripts_are_found(tmp_path: Path) -> None:
    names = {case.name for case in lengths.cases()}
    assert set(SAMPLE) <= names
    assert len(names) > 300

"""Other people's trainers, healthy and whole: whygrad has nothing to complain about and says who trains whom.

Each script in `scripts/` is a short, complete run of Stable-Baselines3 or sb3-contrib, started as a user would
start it. What is expected of a report comes from the algorithm's paper. ARS is left out: it uses no gradients.

These need their own environment: `make test-peers`.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
LONGEST = 60
ENOUGH_UPDATES = 60


@dataclass(frozen=True)
class Trains:
    """A row of the matrix: a loss, or one of its terms. Modules are given by the start of their names."""

    loss: str
    term: str = ""
    """What its name contains; empty for a loss of one term."""
    consumed: dict[str, str] = field(default_factory=dict)
    """Module: the optimizer that applies the gradient."""
    discarded: tuple[str, ...] = ()
    """Modules whose gradient is cleared before anybody applies it."""
    constant: tuple[str, ...] = ()
    """Modules on which the loss depends in value only."""

    @property
    def modules(self) -> tuple[str, ...]:
        return (*self.consumed, *self.discarded)


@dataclass(frozen=True)
class Peer:
    rows: tuple[Trains, ...]
    roles: dict[str, str]


def _value_based(online: str, target: str) -> Peer:
    """DQN (Mnih et al. 2015), QR-DQN (Dabney et al. 2017): one loss trains the online network against a copy."""
    return Peer(
        (Trains("loss", consumed={online: "model.policy.optimizer"}, constant=(target,)),),
        {online: "online", target: "target"},
    )


def _actor_critic(actor: tuple[str, ...], critic: tuple[str, ...], shared: tuple[str, ...] = ()) -> Peer:
    """A2C (Mnih et al. 2016), PPO (Schulman et al. 2017): surrogate and entropy train the policy, the value error
    trains the value function, one optimizer applies the sum."""
    policy = dict.fromkeys((*actor, *shared), "model.policy.optimizer")
    value = dict.fromkeys((*critic, *shared), "model.policy.optimizer")
    return Peer(
        (
            Trains("loss", "policy_loss", policy),
            Trains("loss", "entropy_loss", policy),
            Trains("loss", "value_loss", value),
        ),
        {
            **dict.fromkeys(actor, "actor"),
            **dict.fromkeys(critic, "critic"),
            **dict.fromkeys(shared, "actor and critic"),
        },
    )


def _deterministic(critic_of_actor: str = "model.critic") -> Peer:
    """DDPG (Lillicrap et al. 2016), TD3 (Fujimoto et al. 2018): the actor climbs the (first) critic, which learns
    nothing from it."""
    return Peer(
        (
            Trains(
                "critic_loss",
                consumed={"model.critic": "model.critic.optimizer"},
                constant=("model.actor_target", "model.critic_target"),
            ),
            Trains("actor_loss", consumed={"model.actor": "model.actor.optimizer"}, discarded=(critic_of_actor,)),
        ),
        {
            "model.actor": "actor",
            "model.critic": "critic",
            "model.actor_target": "target",
            "model.critic_target": "target",
        },
    )


def _soft(value_term: str, *, targets: bool = True) -> Peer:
    """SAC (Haarnoja et al. 2018), TQC (Kuznetsov et al. 2020), CrossQ (Bhatt et al. 2024), the last without targets."""
    target = ("model.critic_target",) if targets else ()
    return Peer(
        (
            Trains(
                "ent_coef_loss", consumed={"model.log_ent_coef": "model.ent_coef_optimizer"}, constant=("model.actor",)
            ),
            Trains(
                "critic_loss",
                consumed={"model.critic": "model.critic.optimizer"},
                constant=("model.actor", *target),
            ),
            Trains("actor_loss", "ent_coef * log_prob", {"model.actor": "model.actor.optimizer"}),
            Trains("actor_loss", value_term, {"model.actor": "model.actor.optimizer"}, ("model.critic",)),
        ),
        {
            "model.actor": "actor",
            "model.critic": "critic",
            "model.log_ent_coef": "temperature",
            **dict.fromkeys(target, "target"),
        },
    )


POLICY = ("model.policy.mlp_extractor.policy_net", "model.policy.action_net")
VALUE = ("model.policy.mlp_extractor.value_net", "model.policy.value_net")

PEERS = {
    "dqn": _value_based("model.policy.q_net", "model.policy.q_net_target"),
    "qrdqn": _value_based("model.policy.quantile_net", "model.policy.quantile_net_target"),
    "a2c": _actor_critic(POLICY, VALUE),
    "ppo": _actor_critic(POLICY, VALUE),
    "ppo_shared": _actor_critic(POLICY, VALUE, ("model.policy.features_extractor",)),
    "ppo_continuous": _actor_critic((*POLICY, "model.policy.log_std"), VALUE),
    "maskable_ppo": _actor_critic(POLICY, VALUE),
    "recurrent_ppo": _actor_critic((*POLICY, "model.policy.lstm_actor"), (*VALUE, "model.policy.lstm_critic")),
    "ddpg": _deterministic(),
    "td3": _deterministic("model.critic.qf0"),
    "sac": _soft("min_qf_pi"),
    "tqc": _soft("qf_pi"),
    "crossq": _soft("min_qf_pi", targets=False),
    # Schulman et al. 2015: a natural gradient, by `autograd.grad` and by hand, moves the policy.
    "trpo": Peer(
        (Trains("value_loss", consumed=dict.fromkeys(VALUE, "model.policy.optimizer")),),
        {**dict.fromkeys(POLICY, "actor"), **dict.fromkeys(VALUE, "critic")},
    ),
}
UNTOUCHED = {"ppo_continuous": {("entropy_loss", module) for module in POLICY}}
"""The entropy of a Gaussian depends on its deviation alone, so its term reaches neither network."""


@dataclass(frozen=True)
class Watched:
    report: dict[str, Any]
    status: int
    printed: str
    seconds: float


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield Path(folder)


@cache
def watched(name: str, scratch: Path) -> Watched:
    """One script, once, one core."""
    stored = scratch / f"{name}.json"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "whygrad", "run", "--json", str(stored), str(SCRIPTS / f"{name}.py")],
        cwd=scratch,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=4 * LONGEST,
        check=False,
    )
    seconds = time.monotonic() - began
    assert stored.exists(), done.stderr[-4000:]
    return Watched(json.loads(stored.read_text(encoding="utf-8")), done.returncode, done.stderr, seconds)


@pytest.fixture(params=sorted(PEERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def peer(name: str) -> Peer:
    return PEERS[name]


@pytest.fixture
def run(name: str, scratch: Path) -> Watched:
    return watched(name, scratch)


@pytest.fixture
def report(run: Watched) -> dict[str, Any]:
    return run.report


def test_every_script_is_expected_to_say_something() -> None:
    assert {file.stem for file in SCRIPTS.glob("*.py")} == set(PEERS)


def test_nothing_to_complain_about(run: Watched) -> None:
    loud = [f for f in run.report["findings"] if f["severity"] in ("error", "warning")]
    assert [(f["code"], f["message"], f["seen"]) for f in loud] == []
    assert run.report["limits"] == []
    assert run.report["script_exit_code"] == 0
    assert run.status == 0, run.printed


def test_long_enough_and_short_enough(run: Watched) -> None:
    assert run.report["updates"] >= ENOUGH_UPDATES
    assert run.seconds < LONGEST


def test_each_loss_trains_what_the_paper_says(name: str, peer: Peer, report: dict[str, Any]) -> None:
    rows = report["matrix"]
    assert sorted(row["loss"] for row in rows) == sorted(wanted.loss for wanted in peer.rows), _spoken(rows)
    for wanted in peer.rows:
        row = _row(rows, wanted)
        expected = {m for m in wanted.modules if (wanted.term, m) not in UNTOUCHED.get(name, ())}
        reached = {module: _owner(module, expected) for module in row["cells"]}
        assert set(reached.values()) == expected, (wanted.loss, row["term"], reached)
        for module, cell in row["cells"].items():
            owner = reached[module]
            said = (wanted.loss, row["term"], module, cell)
            assert cell["reached"] == cell["total"], said
            if owner in wanted.discarded:
                assert cell["consumed_by"] == [], said
                assert cell["discarded_by"] != [], said
            else:
                assert cell["consumed_by"] == [wanted.consumed[owner]], said
                assert cell["discarded_by"] == [], said


def test_terms_are_measured(report: dict[str, Any]) -> None:
    """Every cell has a norm; the shares of a loss's terms in a module's gradient sum to one."""
    shares: dict[tuple[str, str], float] = {}
    for row in report["matrix"]:
        for module, cell in row["cells"].items():
            said = (row["loss"], row["term"], module, cell)
            assert cell["norm"] is not None, said
            assert math.isfinite(cell["norm"]), said
            assert cell["norm"] > 0, said
            assert 0 <= cell["share"] <= 1, said
            shares[row["loss"], module] = shares.get((row["loss"], module), 0.0) + cell["share"]
    assert shares
    assert all(math.isclose(total, 1.0, abs_tol=1e-6) for total in shares.values()), shares


def test_what_meets_on_a_module_is_compared(report: dict[str, Any]) -> None:
    """Terms that train one module have an angle there, and only they do."""
    for row in report["matrix"]:
        others = [o for o in report["matrix"] if o["loss"] == row["loss"] and o["term"] != row["term"]]
        for module in row["cells"]:
            meeting = {o["term"] for o in others if module in o["cells"]}
            angles = row["cosines"].get(module, {})
            assert set(angles) == meeting, (row["loss"], row["term"], module)
            assert all(-1.0001 <= angle <= 1.0001 for angle in angles.values())


def test_constants_are_explained(peer: Peer, report: dict[str, Any]) -> None:
    losses = {row["name"]: row for row in report["losses"]}
    assert set(losses) == {wanted.loss for wanted in peer.rows}
    for wanted in peer.rows:
        reasons = losses[wanted.loss]["not_reached"]
        for module in wanted.constant:
            mine = {m: reason for m, reason in reasons.items() if _inside(m, module)}
            assert mine, (wanted.loss, module, reasons)
            if peer.roles[module] == "target":
                assert all("copied from" in reason for reason in mine.values()), mine


def test_roles(peer: Peer, report: dict[str, Any]) -> None:
    found = report["roles"]
    assert {module: peer.roles.get(_owner(module, set(peer.roles))) for module in found} == found
    missing = [module for module in peer.roles if not any(_inside(f, module) for f in found)]
    assert missing == [], found


def test_optimizers_have_the_names_of_their_owners(report: dict[str, Any]) -> None:
    """Not those of a list that the trainer makes in passing."""
    names = {o for row in report["matrix"] for cell in row["cells"].values() for o in cell["consumed_by"]}
    assert names
    assert all(name.startswith("model.") for name in names), names


def _row(rows: list[dict[str, Any]], wanted: Trains) -> dict[str, Any]:
    mine = [r for r in rows if r["loss"] == wanted.loss and wanted.term in r["term"]]
    if not wanted.term:
        mine = [r for r in mine if not r["term"]]
    assert len(mine) == 1, (wanted.loss, wanted.term, _spoken(rows))
    return mine[0]


def _spoken(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    return [(row["loss"], row["term"], list(row["cells"])) for row in rows]


def _owner(module: str, names: set[str]) -> str:
    """The narrowest of the names that a module lies under; the module itself when none of them is its."""
    return max((name for name in names if _inside(module, name)), key=len, default=module)


def _inside(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")

"""The mutation operators on snippets of source: what they change, what they expect and where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from mutation import OPERATORS, Mutant, Script
from mutation.draft import Draft

HEALTHY = Path(__file__).parents[1] / "benchmarks" / "healthy"
AGENTS = [Script(path.read_text(encoding="utf-8")) for path in sorted(HEALTHY.glob("*.py"))]

DQN = """\
import torch
import torch.nn.functional as F
from torch import nn


def update(q_net, target_net, optimizer, obs, action, reward, next_obs):
    with torch.no_grad():
        y = reward + 0.9 * target_net(next_obs).max(1).values
    q = q_net(obs).gather(1, action).squeeze(1)
    loss = F.mse_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q_net.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def main(batches):
    q_net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net.load_state_dict(q_net.state_dict())
    optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
    losses = []
    for number, batch in enumerate(batches):
        losses.append(update(q_net, target_net, optimizer, *batch))
        if number % 10 == 0:
            target_net.load_state_dict(q_net.state_dict())
"""

ACTOR_CRITIC = """\
import torch
from torch import nn
from torch.distributions import Categorical


class Trainer:
    def __init__(self):
        self.model = nn.GRUCell(4, 8)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.hidden = torch.zeros(8)

    def update(self, obs, rewards, next_obs):
        logits, values, hidden = self.model(obs, self.hidden)
        self.hidden = hidden.detach()
        with torch.no_grad():
            returns = rewards + 0.9 * self.model(next_obs, self.hidden)[1]
        dist = Categorical(logits=logits)
        log_probs = dist.log_prob(dist.sample())
        policy_loss = -(log_probs * (returns - values).detach()).mean()
        value_loss = (values - returns).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""


def mutants(operator: str, source: str) -> list[Mutant]:
    return OPERATORS[operator].mutants(Script(source))


def only(operator: str, source: str) -> Mutant:
    (mutant,) = mutants(operator, source)
    return mutant


def fair(mutant: Mutant, code: str) -> list[str]:
    """The text of the lines where a code is fair."""
    lines = mutant.source.split("\n")
    return [lines[number - 1].strip() for number in sorted(mutant.expected[code])]


def changed(mutant: Mutant, source: str) -> list[str]:
    """The lines that the original does not have."""
    before = source.split("\n")
    return [line for line in mutant.source.split("\n") if line not in before]


@pytest.mark.parametrize(
    ("operator", "code", "line"),
    [
        ("detach-prediction", "WG103", "loss = F.mse_loss(q.detach(), y)"),
        ("tolist-prediction", "WG102", "loss = F.mse_loss(torch.tensor(q.tolist()), y)"),
        ("argmax-for-gather", "WG105", "q = q_net(obs).argmax(1, keepdim=True).float().squeeze(1)"),
        ("rewrap-loss", "WG101", "loss = torch.tensor(loss, requires_grad=True)"),
        ("clip-to-zero", "WG305", "nn.utils.clip_grad_norm_(q_net.parameters(), 0.0)"),
        ("copy-self", "WG308", "target_net.load_state_dict(target_net.state_dict())"),
        ("alias-copy", "WG307", "target_net = q_net"),
        ("list-twice", "WG306", "optimizer = torch.optim.Adam([*q_net.parameters(), *q_net.parameters()], lr=1e-3)"),
        ("freeze-network", "WG108", "q_net.requires_grad_(False)"),
        ("uncalled-backward", "WG208", "loss.backward"),
    ],
)
def test_the_new_line_is_the_fair_one(operator: str, code: str, line: str) -> None:
    mutant = only(operator, DQN)
    assert fair(mutant, code) == [line]
    assert [text.strip() for text in changed(mutant, DQN)] == [line]


@pytest.mark.parametrize(
    ("operator", "code", "line"),
    [
        ("drop-zero-grad", "WG301", "optimizer.step()"),
        ("zero-learning-rate", "WG309", "optimizer.step()"),
        ("never-step", "WG315", "optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)"),
        ("drop-sync", "WG308", "y = reward + 0.9 * target_net(next_obs).max(1).values"),
        ("clip-other-network", "WG304", "nn.utils.clip_grad_norm_(target_net.parameters(), 1.0)"),
    ],
)
def test_the_fair_line_may_be_elsewhere(operator: str, code: str, line: str) -> None:
    assert fair(only(operator, DQN), code) == [line]


@pytest.mark.parametrize(
    ("operator", "order"),
    [
        ("clip-after-step", ["loss.backward()", "optimizer.step()", "nn.utils.clip_grad_norm_"]),
        ("clip-before-backward", ["nn.utils.clip_grad_norm_", "loss.backward()", "optimizer.step()"]),
        ("zero-before-step", ["loss.backward()", "optimizer.zero_grad()", "optimizer.step()"]),
        ("step-before-backward", ["optimizer.zero_grad()", "optimizer.step()", "loss.backward()"]),
    ],
)
def test_statements_change_places(operator: str, order: list[str]) -> None:
    places = [only(operator, DQN).source.index(text) for text in order]
    assert places == sorted(places)


def test_a_dropped_no_grad_moves_its_body_to_the_left() -> None:
    mutant = only("drop-no-grad", DQN)
    assert changed(mutant, DQN) == ["    y = reward + 0.9 * target_net(next_obs).max(1).values"]
    assert fair(mutant, "WG201") == [
        "y = reward + 0.9 * target_net(next_obs).max(1).values",
        "loss = F.mse_loss(q, y)",
    ]


def test_a_trained_target_is_in_the_optimizer_and_carries_gradient() -> None:
    mutant = only("train-target", DQN)
    assert "no_grad" not in mutant.source
    assert "[*q_net.parameters(), *target_net.parameters()]" in mutant.source
    assert len(mutant.expected["WG202"]) == 2


def test_what_a_dropped_detach_breaks_depends_on_where_it_leads() -> None:
    hidden, advantage = mutants("drop-detach", ACTOR_CRITIC)
    assert fair(hidden, "WG207") == ["self.hidden = hidden"]
    assert fair(advantage, "WG203") == ["policy_loss = -(log_probs * (returns - values)).mean()"]
    assert set(hidden.expected) == {"WG207"}
    assert set(advantage.expected) == {"WG203"}


def test_a_bootstrapped_return_leaks_into_the_critic_only_where_nothing_detaches_it() -> None:
    mutant = only("drop-no-grad", ACTOR_CRITIC)
    assert set(mutant.expected) == {"WG201"}
    assert "returns = rewards + 0.9 * self.model(next_obs, self.hidden)[1]" in fair(mutant, "WG201")


def test_a_log_with_graphs_leaves_the_weights_alone() -> None:
    source = "total = 0.0\nfor loss in losses:\n    total += loss.item()\n"
    mutant = only("log-with-graph", source)
    assert mutant.source.endswith("    total += loss\n")
    assert not mutant.moves_weights


def test_a_reversed_copy_is_fair_where_it_stands_and_where_the_target_runs() -> None:
    assert fair(only("copy-back", DQN), "WG308") == [
        "y = reward + 0.9 * target_net(next_obs).max(1).values",
        "q_net.load_state_dict(target_net.state_dict())",
    ]


def test_terms_of_a_sum_become_numbers_one_at_a_time() -> None:
    first, second = mutants("item-in-loss", ACTOR_CRITIC)
    assert "loss = policy_loss.item() + 0.5 * value_loss" in first.source
    assert "loss = policy_loss + 0.5 * value_loss.item()" in second.source


def test_operators_leave_a_script_alone_that_gives_them_no_place() -> None:
    assert not [name for name, operator in OPERATORS.items() if operator.mutants(Script("print('no training')\n"))]


@pytest.mark.parametrize("operator", list(OPERATORS))
def test_every_operator_finds_a_place_in_the_healthy_agents(operator: str) -> None:
    made = [mutant for agent in AGENTS for mutant in OPERATORS[operator].mutants(agent)]
    assert made
    assert all(mutant.expected and all(mutant.expected.values()) for mutant in made)
    assert not {mutant.source for mutant in made} & {agent.source for agent in AGENTS}


def test_edits_that_touch_each_other_are_refused() -> None:
    script = Script("x = value.detach()\n")
    draft = Draft(script)
    (statement,) = script.tree.body
    draft.replace(statement, "pass")
    draft.replace(statement, "break")
    with pytest.raises(ValueError, match="overlap"):
        draft.mutant("none")

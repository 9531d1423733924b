"""What an agent must be able to do to be probed: learn for so many steps, and act.

def make_agent(env):            # a gymnasium environment; also (env, gamma) or (env, gamma, seed)
    ...
    return agent

agent.train(steps)              # learn from this many steps in env
agent.act(observation)          # one action for one observation, as good as it can
agent.value(observation)        # optional: how much discounted reward it expects from here
agent.reset()                   # optional: forget what a recurrent agent carries along
agent.gamma                     # optional, where make_agent does not take it
agent.recurrent, agent.players  # optional: True asks for the memory probe, 2 for the two-agent probe
make_agent.actions              # optional: "discrete", "continuous" or "both"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

GAMMA = 0.6
"""Given to every agent that takes it: 1, gamma and gamma squared are then far apart, and values build up quickly."""
ASSUMED = 0.99
"""Of an agent that neither takes gamma nor says it."""


class ProtocolError(ValueError):
    """The agent cannot be probed; the message says what is missing."""


class Agent(Protocol):
    def train(self, steps: int) -> object: ...

    def act(self, observation: Any) -> Any: ...


Factory = Callable[..., Any]


def build(make_agent: Factory, env: Any, gamma: float, seed: int) -> Agent:
    """Call the factory with what it takes, and check what it returns."""
    offered = {"gamma": gamma, "seed": seed}
    agent = make_agent(env, **{name: value for name, value in offered.items() if takes(make_agent, name)})
    if isinstance(agent, type):
        raise ProtocolError(f"{called(make_agent)} returned the class {agent.__name__}, not an agent made of it")
    for method in ("train", "act"):
        if not callable(getattr(agent, method, None)):
            raise ProtocolError(
                f"{called(make_agent)} returned {_article(agent)} without {method}(); an agent has train(steps) and "
                "act(observation)"
            )
    checked: Agent = agent
    return checked


def takes(make_agent: Factory, name: str) -> bool:
    try:
        return name in inspect.signature(make_agent).parameters
    except (TypeError, ValueError):
        return False


def discount(agent: Agent, make_agent: Factory, given: float) -> float:
    """The gamma that the agent's values should show."""
    said = getattr(agent, "gamma", None)
    if said is None:
        return given if takes(make_agent, "gamma") else ASSUMED
    try:
        gamma = float(said)
    except (TypeError, ValueError):
        gamma = -1.0
    if not 0.0 <= gamma <= 1.0:
        raise ProtocolError(f"agent.gamma must be a number from 0 to 1, not {said!r}")
    return gamma


def has_value(agent: Agent) -> bool:
    return callable(getattr(agent, "value", None))


def called(make_agent: Factory) -> str:
    return str(getattr(make_agent, "__name__", None) or type(make_agent).__name__)


def _article(thing: object) -> str:
    name = type(thing).__name__
    return "None" if thing is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"

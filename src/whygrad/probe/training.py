"""A factory of agents under a probe: a fresh agent, trained while whygrad watches, then asked."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from whygrad.probe.answer import Answer, Settings
from whygrad.probe.catalogue import PROBES, Probe
from whygrad.probe.environments.environment import ActionError, ProbeEnv
from whygrad.probe.protocol import GAMMA, Agent, Factory, ProtocolError, build, called, discount, has_value
from whygrad.probe.reading import READERS, NoValueError
from whygrad.probe.registration import identity
from whygrad.session import Session, active, watch

Environment: TypeAlias = gymnasium.Env[Any, Any]
NO_VALUE = "the agent has no value(observation)"
UNDECLARED = {"recurrent": "agent.recurrent is not True", "players": "agent.players is not 2"}


class Trained:
    """A subject made from `make_agent`."""

    def __init__(self, make_agent: Factory, name: str = "") -> None:
        if not callable(make_agent):
            raise ProtocolError(f"{name or make_agent!r} cannot be called; a factory make_agent(env) is expected")
        self._make = make_agent
        self.name = name or called(make_agent)

    def kinds(self, settings: Settings) -> str:
        """By what the factory declares in `actions`, else by building an agent for each kind of action."""
        declared = getattr(self._make, "actions", "")
        if declared:
            return str(declared)
        refused = {kind: self._refusal(kind == "continuous", settings) for kind in ("discrete", "continuous")}
        if all(refused.values()):
            raise ProtocolError(f"{self.name} builds no agent for a probe: {refused['discrete']}")
        return "both" if not any(refused.values()) else "continuous" if refused["discrete"] else "discrete"

    def _refusal(self, continuous: bool, settings: Settings) -> str:
        probe = next(p for p in PROBES if p.name == "ActionReward")
        env = _environment(probe, {}, settings, continuous)
        try:
            build(self._make, env, GAMMA, settings.seed)
        except ProtocolError:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def answer(self, probe: Probe, settings: Settings) -> Answer:
        answer = Answer()
        for arguments in probe.runs:
            self._run(probe, arguments, settings, answer)
            if answer.raised or answer.unasked:
                break
        return answer

    def _run(self, probe: Probe, arguments: dict[str, Any], settings: Settings, answer: Answer) -> None:
        continuous = settings.continuous or probe.only_for == "continuous"
        env = _environment(probe, arguments, settings, continuous)
        _sow(settings.seed)
        try:
            with _one_thread(), _watched(settings.watch, answer):
                agent = build(self._make, env, GAMMA, settings.seed)
                answer.unasked = _unasked(agent, probe, settings)
                if answer.unasked:
                    return
                agent.train(settings.steps)
        except ProtocolError:
            raise
        except (Exception, SystemExit) as error:
            self._stopped(error, continuous and not settings.continuous, answer)
            return
        answer.gamma = discount(agent, self._make, GAMMA)
        try:
            answer.observed |= self._asked(agent, probe, env)
        except NoValueError:
            answer.unasked = NO_VALUE
        except ActionError as error:
            self._stopped(error, continuous and not settings.continuous, answer)

    def _stopped(self, error: BaseException, another_kind: bool, answer: Answer) -> None:
        """With the other kind of actions than everywhere else, nobody promised that the agent would work."""
        said = f"{type(error).__name__}: {error}"
        if another_kind:
            answer.unasked = f"the agent does not seem to take continuous actions ({said})"
        elif isinstance(error, ActionError):
            raise ProtocolError(f"{self.name} cannot handle this action space: {error}") from error
        else:
            answer.raised = f"{said}{_where(error)}"

    def _asked(self, agent: Agent, probe: Probe, env: Environment) -> dict[str, float]:
        asked = env.unwrapped
        assert isinstance(asked, ProbeEnv)
        try:
            return READERS[probe.asks](agent, asked)
        except (ProtocolError, ActionError, NoValueError):
            raise
        except Exception as error:
            said = f"{self.name}: asking the trained agent failed ({type(error).__name__}: {error})"
            raise ProtocolError(said) from error


def _environment(probe: Probe, arguments: dict[str, Any], settings: Settings, continuous: bool) -> Environment:
    return gymnasium.make(
        identity(probe.name),
        disable_env_checker=True,
        image=settings.image,
        continuous=continuous,
        seed=settings.seed,
        **arguments,
    )


def _unasked(agent: Agent, probe: Probe, settings: Settings) -> str:
    """Why this agent is not asked; empty when it is."""
    if probe.asks == "values" and not has_value(agent):
        return NO_VALUE
    declared = {"recurrent": getattr(agent, "recurrent", False) is True, "players": getattr(agent, "players", 1) == 2}
    if probe.name.lower() in settings.named or declared.get(probe.only_for, True):
        return ""
    return UNDECLARED[probe.only_for]


def _where(error: BaseException) -> str:
    """The last line of the user's own code on the way to the exception."""
    own = os.path.dirname(__file__) + os.sep
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    mine = [frame for frame in frames if "site-packages" not in frame.filename]
    return f" ({os.path.basename(mine[-1].filename)}:{mine[-1].lineno})" if mine else ""


def _sow(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.manual_seed(seed)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(seed)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Networks this small only wait for each other's threads: 5 s a probe instead of 50 on two busy cores."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _watched(wanted: bool, answer: Answer) -> Iterator[None]:
    """Watch the training, unless somebody watches already or there is nothing to watch."""
    framework = "tensorflow" in sys.modules or importlib.util.find_spec("torch") is not None
    if not wanted or active() is not None or not framework:
        yield
        return
    session: Session = watch(budget=0.0)
    try:
        with session:
            yield
    finally:
        answer.findings += session.report.findings
        answer.roles |= session.report.roles
        answer.source |= session.report.source

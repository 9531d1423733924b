"""The probe environments as gymnasium ids: `gymnasium.make("whygrad/ConstantReward-v0")`."""

from __future__ import annotations

import json
import os

from whygrad.probe.missing import GymnasiumMissingError

try:
    from gymnasium.envs.registration import register as _register
    from gymnasium.envs.registration import registry
except ModuleNotFoundError as error:
    raise GymnasiumMissingError(error) from error

HOMES = {
    "ConstantReward": "constant_reward",
    "ObservationReward": "observation_reward",
    "DelayedReward": "delayed_reward",
    "ActionReward": "action_reward",
    "ObservationActionReward": "observation_action_reward",
    "Terminal": "terminal",
    "Truncation": "truncation",
    "ContinuousAction": "continuous_action",
    "Memory": "memory",
    "TwoAgents": "two_agents",
}
OPTIONS = "WHYGRAD_PROBE_OPTIONS"
"""Arguments of the environments, in JSON, for a script that knows nothing but an id."""


def identity(name: str) -> str:
    return f"whygrad/{name}-v0"


def register() -> None:
    """Done on import; gymnasium 1.x looks for no plugins, but imports the module in front of an id:
    `whygrad.probe:whygrad/ConstantReward-v0`."""
    options = json.loads(os.environ.get(OPTIONS, "{}"))
    for name, file in HOMES.items():
        if identity(name) not in registry:  # A module may be imported anew.
            _register(identity(name), entry_point=f"whygrad.probe.environments.{file}:{name}", kwargs=options)

"""The value function of a script, by the names that CleanRL gave it: agent.get_value, q_network, qf1 and actor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whygrad.probe.environments.environment import ProbeEnv


def values(names: dict[str, Any], env: ProbeEnv) -> dict[str, float] | None:
    """V of every state, where the script shows a value function; None where it does not."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    try:
        device = next(
            p.device for name in ("agent", "q_network", "qf1") if name in names for p in names[name].parameters()
        )
        with torch.no_grad():
            return {
                state: _value(names, torch.as_tensor(env.shown(state), dtype=torch.float32, device=device).unsqueeze(0))
                for state in env.states
            }
    except Exception:  # Names like these with another meaning: then no value function is visible.
        return None


def _value(names: dict[str, Any], observation: Any) -> float:
    if hasattr(names.get("agent"), "get_value"):
        return float(names["agent"].get_value(observation))
    if "q_network" in names:
        return float(names["q_network"](observation).max())
    actor = names["actor"]
    action = actor.get_action(observation)[2] if hasattr(actor, "get_action") else actor(observation)
    return float(names["qf1"](observation, action))


def gamma(names: dict[str, Any]) -> float | None:
    found = getattr(names.get("args"), "gamma", None)
    return float(found) if isinstance(found, int | float) else None

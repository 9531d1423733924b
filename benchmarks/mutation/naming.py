"""What the names in RL scripts say: log-probabilities, advantages, hidden states, target networks."""

from __future__ import annotations

import re

_LOG_PROB = re.compile(r"log_?p(rob|i)?s?($|_)|^(next|new|old|ref)_?logp")
_OLD = re.compile(r"(^|_)(old|behaviou?r|rollout|sampled)(_|$)")
_RATIO = re.compile(r"ratio|surr")
_LOSS = re.compile(r"loss|^total$|objective")
_CRITIC = re.compile(r"value|critic|baseline|mse|(^|_)[qv](_|\d|$)")
_HIDDEN = re.compile(r"hidden|^(rnn_)?state$|^[hc]x?$")
_TEMPERATURE = re.compile(r"alpha|temperature|beta|coef", re.IGNORECASE)
_TARGET_NETWORK = re.compile(r"target|tgt")


def is_log_prob(name: str) -> bool:
    return bool(_LOG_PROB.search(name))


def is_old(name: str) -> bool:
    """Of the policy that collected the data."""
    return bool(_OLD.search(name))


def is_ratio(name: str) -> bool:
    return bool(_RATIO.search(name))


def is_loss(name: str) -> bool:
    return bool(_LOSS.search(name))


def is_critic(name: str) -> bool:
    """A value estimate, its network or its loss."""
    return bool(_CRITIC.search(name))


def is_hidden_state(name: str) -> bool:
    return bool(_HIDDEN.search(name))


def is_temperature(name: str) -> bool:
    return bool(_TEMPERATURE.search(name))


def is_target_network(name: str) -> bool:
    return bool(_TARGET_NETWORK.search(name))

"""Quantities of reinforcement learning that the stepping function holds, under names usual or seen in the trace."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch

from whygrad.capture import frames
from whygrad.capture.search import is_a, real
from whygrad.capture.torch import functions, methods

Tensor = torch.Tensor
NAMES = {
    "ratio": "ratio ratios prob_ratio importance_ratio",
    "approx_kl": "approx_kl approxkl kl kl_div mean_kl",
    "entropy": "entropy mean_entropy dist_entropy entropy_bonus",
    "clip_fraction": "clip_fraction clipfrac clip_frac",
    "explained_variance": "explained_variance explained_var",
    "td_error": "td_error td_errors td_err",
    "advantage": "advantage advantages adv advs mb_advantages b_advantages",
    "return": "returns mb_returns b_returns discounted_returns",
}
SIGNALS = {variable: signal for signal, variables in NAMES.items() for variable in variables.split()}
LARGEST = 1_000_000
"""Values beyond which a mean would cost too much."""
Learned = Mapping[tuple[str, str], Mapping[str, str]]


def signals(frame: FrameType | None, learned: Learned) -> dict[str, Tensor]:
    """The mean of each, as a tensor of one value where it lives; of errors the mean of their size."""
    while frame is not None and frames.kind_of_code(frame.f_code) != frames.USER:
        frame = frame.f_back
    if frame is None:
        return {}
    code = frame.f_code
    own = learned.get((code.co_filename, code.co_qualname), {})
    if not any(name in SIGNALS or name in own for name in code.co_varnames + code.co_names):
        return {}
    found: dict[str, Tensor] = {}
    variables = frames.variables(frame)
    for name, value in variables.items():
        signal = own.get(name) or SIGNALS.get(name)
        mean = _mean(value, signal == "td_error") if signal is not None else None
        if signal is not None and mean is not None:
            found.setdefault(signal, mean)
    ratio = next((variables[name] for name, signal in own.items() if signal == "ratio" and name in variables), None)
    if _plain(ratio):
        found.setdefault("approx_kl", _divergence(ratio))
    return found


def _mean(value: Any, size: bool) -> Tensor | None:
    if is_a(value, float):
        number = real(value)
        return functions.tensor([abs(number) if size else number], dtype=torch.float64, device="cpu")
    if not _plain(value):
        return None
    whole: Tensor = methods.absolute(methods.detach(value)) if size else methods.detach(value)
    return whole.mean(dtype=torch.float64).reshape(1)


def _plain(value: Any) -> bool:
    if type(value) is not Tensor or not value.is_floating_point() or not 0 < value.numel() <= LARGEST:
        return False
    return value.layout == torch.strided and value.device.type in ("cpu", "cuda")


def _divergence(ratio: Any) -> Tensor:
    """The mean of ratio - 1 - log ratio: never negative, and exact in the mean for the divergence of new from old."""
    values = methods.double(methods.detach(ratio))
    out: Tensor = (values - 1 - values.log()).mean().reshape(1)
    return out

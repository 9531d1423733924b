"""Quantities of reinforcement learning that the stepping function holds under their usual names."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from whygrad.capture.torch import frames

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


def signals(frame: FrameType | None) -> dict[str, Tensor]:
    """The mean of each, as a tensor of one value where it lives; of errors the mean of their size."""
    while frame is not None and frames.kind_of(frame.f_code.co_filename) != frames.USER:
        frame = frame.f_back
    if frame is None or not any(name in SIGNALS for name in frame.f_code.co_varnames + frame.f_code.co_names):
        return {}
    found: dict[str, Tensor] = {}
    for name, value in frames.variables(frame).items():
        signal = SIGNALS.get(name)
        mean = _mean(value, signal == "td_error") if signal is not None else None
        if signal is not None and mean is not None:
            found.setdefault(signal, mean)
    return found


def _mean(value: Any, size: bool) -> Tensor | None:
    if isinstance(value, float):
        return torch.tensor([abs(value) if size else value], dtype=torch.float64, device="cpu")
    if type(value) is not Tensor or not value.is_floating_point() or not 0 < value.numel() <= LARGEST:
        return None
    if value.layout != torch.strided or value.device.type not in ("cpu", "cuda"):
        return None
    whole = value.detach().abs() if size else value.detach()
    return whole.mean(dtype=torch.float64).reshape(1)

"""Functions of torch's that compute otherwise while a mode is on the stack: they are told as if ours were not there.

In evaluation, attention layers take a faster path: it rounds otherwise, and puts zeros where a mask says padding. They
give it up where `torch.overrides.has_torch_function` finds any mode at all. So what runs is their own instructions with
another name in the place of the question. (Read off torch 2.13: all else that asks does the same either way.)
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch

from whygrad.capture import detours, standins
from whygrad.capture.detours import Detours, Function
from whygrad.capture.torch import threads
from whygrad.capture.torch.mode import ShadowMode

LAYERS = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer, torch.nn.TransformerEncoder)
_QUESTION = "has_torch_function"
_OURS = "__whygrad_has_torch_function__"


def follow(during: Detours) -> None:
    setattr(torch.overrides, _OURS, _has_torch_function)
    for layer in LAYERS:
        during.set(layer, "forward", _deciding)


def _deciding(original: Function) -> Function:
    unnoticed = _asking_ours(original)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return standins.call(unnoticed, args, kwargs, detours.caller())

    return forward


def _asking_ours(function: Function) -> Function:
    assert isinstance(function, FunctionType)
    code = function.__code__
    names = tuple(_OURS if name == _QUESTION else name for name in code.co_names)
    return detours.variant(function, code.replace(co_names=names))


def _has_torch_function(tensors: Iterable[Any]) -> bool:
    """What the question would be answered without us: modes of the script's count, and so do types."""
    ours = [mode for mode in torch.overrides._get_current_function_mode_stack() if isinstance(mode, ShadowMode)]
    for mode in ours:
        threads.remove(mode)
    try:
        return torch.overrides.has_torch_function(tensors)
    finally:
        for mode in ours:
            threads.insert(mode)

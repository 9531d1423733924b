"""An update as one CUDA graph: small networks spend their time launching kernels, and a graph is launched once."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import torch

Given = TypeVar("Given", bound="tuple[Any, ...]")
"""A (named) tuple of tensors."""
Result = TypeVar("Result")
Shapes = tuple[torch.Size, ...]
WARMING = 3
"""Calls that run as usual before one is captured: libraries set themselves up in them."""


def graphed(function: Callable[[Given], Result], device: str, wanted: bool) -> Callable[[Given], Result]:
    """The function itself, unless this is a GPU and a graph is wanted."""
    return Graphed(function, device) if wanted and torch.device(device).type == "cuda" else function


class Graphed(Generic[Given, Result]):
    """Captured once for each combination of shapes, then replayed on the same memory.

    What it returns is overwritten by the next call. Numbers that are no tensors (a learning rate) stay what they were
    when it was captured.
    """

    def __init__(self, function: Callable[[Given], Result], device: str) -> None:
        self._function = function
        self._stream = torch.cuda.Stream(device)
        self._calls: Counter[Shapes] = Counter()
        self._captured: dict[Shapes, tuple[torch.cuda.CUDAGraph, Given, Result]] = {}
        self._refused = False

    def __call__(self, given: Given) -> Result:
        shapes = tuple(tensor.shape for tensor in given)
        self._calls[shapes] += 1
        if shapes not in self._captured and (self._refused or self._calls[shapes] <= WARMING):
            return self._as_usual(given)
        if shapes not in self._captured:
            try:
                self._captured[shapes] = self._capture(given)
            except RuntimeError as error:
                warnings.warn(f"no CUDA graph, the update runs as usual: {error}", stacklevel=2)
                self._refused = True
                return self._as_usual(given)
        graph, inputs, result = self._captured[shapes]
        if given:
            torch._foreach_copy_(list(inputs), list(given))
        graph.replay()
        return result

    def _as_usual(self, given: Given) -> Result:
        """On the stream of the later capture: gradients are accumulated on the stream that they were first used on."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            result = self._function(given)
        current.wait_stream(self._stream)
        return result

    def _capture(self, given: Given) -> tuple[torch.cuda.CUDAGraph, Given, Result]:
        copies = [tensor.clone() for tensor in given]
        inputs: Given = type(given)._make(copies) if hasattr(given, "_make") else type(given)(copies)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            result = self._function(inputs)
        return graph, inputs, result

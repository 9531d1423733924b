"""Values that leave torch and come back: known again by their bits or by their memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from whygrad.capture.search import is_a, real
from whygrad.capture.torch import methods
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.capture.torch.unheard import NoFunctions, NoOperations, opaque

MOST_VALUES = 64
"""Elements of an array that are remembered or looked at: a match of one unusual number is enough."""
LARGEST = 4096


def departed(shadow: Shadow, out: Any, node: Node) -> None:
    """Remember what left: numbers by value, arrays also by address."""
    address = _address(out)
    if address is not None:
        shadow.left_memory(address, node, out)
    for value in _numbers(out):
        shadow.left(value, node)


def origins(shadow: Shadow, data: Any) -> list[Node]:
    """Where the numbers of this data left torch, each place once."""
    address = _address(data)
    known = shadow.origin_of_memory(address) if address is not None else None
    found = {id(known): known} if known is not None else {}
    for value in _numbers(data):
        node = shadow.origin(value)
        if node is not None:
            found.setdefault(id(node), node)
    return list(found.values())


def origin_of_tensor(shadow: Shadow, tensor: torch.Tensor) -> Node | None:
    """Where a tensor of unknown make got its numbers, if they were seen leaving."""
    if (
        tensor.is_nested
        or tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or not 0 < tensor.numel() <= LARGEST
    ):
        return None
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or opaque(tensor):
        return None  # A wrapper need not have memory or numbers of its own.
    known = shadow.origin_of_memory(tensor.data_ptr())
    if known is not None:
        return known
    with NoFunctions(), NoOperations():
        values = methods.tolist(methods.detach(tensor).flatten()[:4])
    for value in values:
        node = shadow.origin(value) if isinstance(value, float) else None
        if node is not None:
            return node
    return None


def flattened(data: Any, depth: int = 3) -> Iterator[Any]:
    """The leaves of nested sequences, bounded."""
    if isinstance(data, (list, tuple)) and depth:
        for item in data[:LARGEST]:
            yield from flattened(item, depth - 1)
    else:
        yield data


def _address(data: Any) -> int | None:
    return int(data.__array_interface__["data"][0]) if _array(data) else None


def _array(data: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and is_a(data, (numpy.ndarray, numpy.generic))


def _numbers(data: Any) -> Iterator[float]:
    if is_a(data, float):
        yield real(data)
    elif _array(data):
        if data.dtype.kind == "f" and data.size:
            for index in range(min(int(data.size), MOST_VALUES)):
                yield float(data.flat[index])
    elif isinstance(data, (list, tuple)):
        for count, item in enumerate(flattened(data)):
            if count >= MOST_VALUES * 16:
                return
            if isinstance(item, (list, tuple)):
                continue
            yield from _numbers(item)

"""The ways from an update into a capture, closed and opened again: bare and watched rounds in one process.

Two processes that do the same differ by several per cent, by the luck of their addresses; one that alternates does not.
To put another function into a module does not make CPython forget what it has learnt about torch's classes, either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import optimizer as optimizers


class Ways:
    """What a small script's update comes by: `autograd.backward`, and the hooks around a step."""

    def __init__(self, attach: Callable[[], None]) -> None:
        self._bare = torch.autograd.backward
        attach()
        self._watched = torch.autograd.backward
        self._hooks: list[dict[int, Any]] = []

    def close(self) -> None:
        torch.autograd.backward = self._bare
        self._hooks = [dict(hooks) for hooks in _tables()]
        for hooks in _tables():
            hooks.clear()

    def open(self) -> None:
        torch.autograd.backward = self._watched
        for hooks, kept in zip(_tables(), self._hooks, strict=True):
            hooks.update(kept)


def _tables() -> tuple[dict[int, Any], dict[int, Any]]:
    return optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks

"""Along which dimension an operation works, and whether an index picks one value per row."""

from __future__ import annotations

from typing import Any

import torch

from whygrad.trace.facts import Facts

Tensor = torch.Tensor
ALONG = frozenset({"softmax", "log_softmax", "logsumexp", "gather", "index_select", "argmax", "amax", "sum", "mean"})
PICKERS = frozenset({"select", "gather", "index_select", "take"})


def place(facts: Facts, name: str, written: str, args: Any, kwargs: dict[str, Any]) -> None:
    source = args[0] if args else kwargs.get("input")
    if not isinstance(source, Tensor):
        return
    if name in ALONG:
        given = kwargs.get("dim", args[_place(written)] if len(args) > _place(written) else None)
        if isinstance(given, int) and not isinstance(given, bool) and source.dim():
            facts.dim = given % source.dim()
        elif given is None and name in ("softmax", "log_softmax"):
            facts.dim, facts.implied = (
                0 if source.dim() in (0, 1, 3) else 1,
                True,
            )  # What torch chooses, with a warning.
    if name in PICKERS and source.dim() == 2 and source.shape[0] > 1:
        facts.picks = _picks(written, source, args, kwargs)
    elif name == "gather" and source.dim() > 2:
        facts.picks = _picks_across(source, facts.dim, _index(written, args, kwargs))


def _place(written: str) -> int:
    """Of the dimension among the arguments."""
    return 2 if written == "take_along_dim" else 1


def _index(written: str, args: Any, kwargs: dict[str, Any]) -> Any:
    place = 1 if written in ("take_along_dim", "take") else 2
    return kwargs.get("indices", kwargs.get("index", args[place] if len(args) > place else None))


def _picks(written: str, source: Tensor, args: Any, kwargs: dict[str, Any]) -> str:
    rows = source.shape[0]
    if written in ("select", "narrow"):
        return ""
    if written == "__getitem__":
        pair = args[1] if isinstance(args[1], tuple) and len(args[1]) == 2 else (None, None)
        whole = pair[0] is Ellipsis or (isinstance(pair[0], slice) and pair[0] == slice(None))
        return "columns" if whole and _indexes(pair[1], rows) else ""
    index = _index(written, args, kwargs)
    if written == "take":
        return "flat" if _indexes(index, rows) else ""
    dim = kwargs.get("dim", args[_place(written)] if len(args) > _place(written) else None)
    if written == "index_select":
        return "columns" if dim in (1, -1) and _indexes(index, rows) else ""
    alike = isinstance(index, Tensor) and index.shape in ((rows, 1), (1, rows))
    return "rows" if dim in (0, -2) and alike else ""


def _picks_across(source: Tensor, dim: int | None, index: Any) -> str:
    """One number per row of the last dimension, used to look up another dimension: only its first column is read."""
    last = source.dim() - 1
    if dim is None or dim == last or not isinstance(index, Tensor) or source.shape[last] < 2 or source.shape[dim] < 2:
        return ""
    return "across" if index.shape == (*source.shape[:last], 1) else ""


def _indexes(index: Any, rows: int) -> bool:
    return (
        isinstance(index, Tensor)
        and not index.is_floating_point()
        and index.dtype != torch.bool
        and (index.numel() == rows)
    )


def alone(args: Any, kwargs: dict[str, Any]) -> tuple[int, ...] | None:
    """The shape, when a choice runs along a dimension of size one although there is something to choose from."""
    source = args[0] if args else kwargs.get("input")
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if not isinstance(source, Tensor) or not isinstance(dim, int) or source.dim() < 2:
        return None
    return tuple(source.shape) if source.shape[dim] == 1 and source.numel() > 1 else None

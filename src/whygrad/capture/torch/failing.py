"""A loss that is not finite while nothing is traced: autograd's own graph still knows where it began."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import frames
from whygrad.capture.torch import functions, methods
from whygrad.capture.torch.elsewhere import listened, profiled
from whygrad.capture.torch.spelling import canonical
from whygrad.capture.torch.unheard import opaque, unheard
from whygrad.trace import Backward, Kind, Op
from whygrad.trace.anatomy import behind_shaping, head
from whygrad.trace.ledger import Failure

if TYPE_CHECKING:
    from whygrad.capture.torch.capture import Capture

Tensor = torch.Tensor
_modes: Callable[[], int] = torch._C._len_torch_function_stack
MOST_NODES = 20_000
NAMES = {
    "Div": ("div", "reciprocal"),
    "Pow": ("pow", "rpow"),
    "Std": ("std", "std_mean"),
    "Mean": ("mean", "nanmean"),
}
"""Operations behind autograd's node names, where they are not simply the same word."""


def finite(args: Any) -> bool:
    """Whether the loss of a backward is finite, as far as that can be seen without waiting for a device."""
    loss = args[0] if args else None
    if type(loss) is not Tensor:
        return True
    if listened() or profiled() or _modes():
        return unheard(_finite, loss)
    return _finite(loss)


def _finite(loss: Tensor) -> bool:
    try:
        return loss.dim() > 0 or not loss.is_cpu or math.isfinite(methods.item(loss))
    except (RuntimeError, TypeError):  # No single real number: complex, or a stand-in without values.
        return True


class Failing:
    """Looks at the first loss that is not finite; at ever fewer of the later ones, whether weights are."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.failure: Failure | None = None

    def noticed(self, loss: Tensor, frame: FrameType) -> None:
        updates = self.capture.protocol.updates
        failure, first = self.failure, self.failure is None
        if failure is None:
            special = "nan" if math.isnan(methods.number(methods.detach(loss))) else "inf"
            failure = self.failure = Failure(frames.user_site(frame), updates, special)
        failure.times, failure.last = failure.times + 1, updates
        if failure.ruined is None and not failure.times & (failure.times - 1) and self.poisoned():
            failure.ruined = updates
        if first:
            self._trace_back(loss, failure)

    def _trace_back(self, loss: Tensor, failure: Failure) -> None:
        traced = [b for b in self.capture.protocol.backwards if b.root is not None and b.site == failure.site]
        if not traced:
            return
        ruined = failure.ruined is not None
        found = self._despite(loss, traced[-1]) if ruined else self._match(loss, traced[-1], failure)
        if found is not None:
            failure.backward, failure.op = traced[-1].id, found

    def poisoned(self) -> bool:
        """Whether weights are not finite already, so that every forward is not."""
        tensors = [
            t for _, t in self.capture.parameters.living() if t.is_floating_point() and not t.is_meta and not opaque(t)
        ]
        return any(not methods.true(methods.all_of(functions.isfinite(methods.detach(t)))) for t in tensors)

    def _match(self, loss: Tensor, backward: Backward, failure: Failure) -> int | None:
        """The traced operation that stands where the failing node stands: the same rank among its kind."""
        nodes = _nodes(loss.grad_fn)
        failed = next((node for node in nodes if _fails(node)), None)
        if failed is not None:
            op = self._counterpart(failed, nodes, backward)
            if op is None and not self._named(failed, backward):
                failure.strange = _snake(_word(failed))
            return op.id if op is not None else None
        node, place = next(((n, p) for n in nodes if (p := _constant(n)) is not None), (None, 0))
        op = self._counterpart(node, nodes, backward) if node is not None else None
        if op is None or place >= len(op.inputs):
            return None
        made = behind_shaping(self.capture.extraction.graph, op.inputs[place].op)
        if made is None or not made.inputs:
            return None
        failure.constant = True
        return made.id

    def _despite(self, loss: Tensor, backward: Backward) -> int | None:
        """The gradient of the step before has ruined weights: an operation that fails by values of other origin.

        A value that is finite now was not computed from those weights, unless by way of a comparison."""
        nodes = _nodes(loss.grad_fn)
        graph = self.capture.extraction.graph
        for node in nodes:
            op = self._counterpart(node, nodes, backward) if _fails_again(node) else None
            if op is not None and op.inputs:
                behind = head(graph, op.inputs[-1].op, gradient=False, selectors=True)
                if not any(found.kind is Kind.DISCRETE or found.dtype == "bool" for found in behind):
                    return op.id
        return None

    def _counterpart(self, failed: Any, nodes: list[Any], backward: Backward) -> Op | None:
        alike = [node for node in nodes if node.name() == failed.name()]
        ops = self._named(failed, backward)
        return ops[alike.index(failed)] if len(ops) == len(alike) else None

    def _named(self, node: Any, backward: Backward) -> list[Op]:
        """Operations of a traced loss that could have made such a node, in their order."""
        assert backward.root is not None
        graph, names = self.capture.extraction.graph, _names(node)
        return [graph[n] for n in sorted(graph.carriers(backward.root)) if graph[n].name in names]


def _nodes(root: Any) -> list[Any]:
    """Autograd's nodes behind a loss in the order of the forward."""
    found: list[Any] = []
    stack, seen = [root], {root}
    while stack and len(found) < MOST_NODES:
        node = stack.pop()
        if node is None:
            continue
        found.append(node)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return sorted((n for n in found if "Accumulate" not in n.name()), key=lambda n: n._sequence_nr())


def _fails(node: Any) -> bool:
    """Finite operands, and a result that is not."""
    if node.name().startswith("MeanBackward"):
        return getattr(node, "_saved_self_sym_numel", 1) == 0
    result = getattr(node, "_saved_result", None)
    return not _good(result) if isinstance(result, Tensor) else _fails_again(node)


def _fails_again(node: Any) -> bool:
    """The operation, repeated on the operands that it saved: they are finite and its result is not."""
    saved = {name.removeprefix("_saved_"): getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
    own, other = saved.get("self"), saved.get("other")
    operation = _AGAIN.get(node.name().removesuffix("Backward0"))
    if operation is None or not isinstance(own if own is not None else other, Tensor):
        return False
    operands = [t for t in (own, other) if isinstance(t, Tensor)]
    return all(_good(t) for t in operands) and not _good(operation(own, other, saved))


def _constant(node: Any) -> int | None:
    """Which operand, one without history, was not finite before the operation: an advantage, a target."""
    for place, name in enumerate(("_saved_self", "_saved_other")):
        saved = getattr(node, name, None)
        inputs = node.next_functions
        if place < len(inputs) and inputs[place][0] is None and isinstance(saved, Tensor) and not _good(saved):
            return place
    saved = getattr(node, "_saved_target", None)
    return 1 if isinstance(saved, Tensor) and saved.grad_fn is None and not _good(saved) else None


def _good(tensor: Tensor) -> bool:
    return methods.true(methods.all_of(functions.isfinite(methods.detach(tensor))))


def _divided(own: Any, other: Any, _: dict[str, Any]) -> Tensor:
    return torch.div(own if isinstance(own, Tensor) else functions.ones_like(other), other)


_AGAIN: dict[str, Any] = {
    "Log": lambda own, *_: own.log(),
    "Log1P": lambda own, *_: own.log1p(),
    "Log2": lambda own, *_: own.log2(),
    "Log10": lambda own, *_: own.log10(),
    "Atanh": lambda own, *_: own.atanh(),
    "Acos": lambda own, *_: own.acos(),
    "Asin": lambda own, *_: own.asin(),
    "Pow": lambda own, _, saved: own.pow(saved.get("exponent", 1)),
    "Div": _divided,
}


def _names(node: Any) -> tuple[str, ...]:
    word = _word(node)
    return NAMES.get(word, (canonical(_snake(word)),))


def _word(node: Any) -> str:
    return str(node.name().removesuffix("Backward0"))


def _snake(word: str) -> str:
    """`LogSoftmax` is `log_softmax`, `Log1P` is `log1p`."""
    out = "".join(
        f"_{c.lower()}" if c.isupper() and i and not word[i - 1].isdigit() else c.lower() for i, c in enumerate(word)
    )
    return out.strip("_")

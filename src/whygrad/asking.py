"""`whygrad.explain(loss, module)`: one loss, asked about directly, in a debugger or a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from whygrad import visible
from whygrad.session import active

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Explanation:
    """Which parameters a loss reaches by gradient, and what is known about the others."""

    reached: tuple[str, ...]
    missing: dict[str, str]
    """Parameter to reason."""
    has_graph: bool
    certain: bool = True
    """False where the tape only tells whom it watches, not whom the loss leads to."""

    def __bool__(self) -> bool:
        return self.has_graph and not self.missing

    def __str__(self) -> str:
        total = len(self.reached) + len(self.missing)
        if not self.has_graph:
            head = f"the loss has no graph: gradient reaches 0 of {total} parameters"
        elif not self.certain:
            head = f"gradient reaches at most {len(self.reached)} of {total} parameters (whygrad.watch() tells more)"
        else:
            head = f"gradient reaches {len(self.reached)} of {total} parameters"
        return "\n".join([head, *(visible.line(f"  {name}: {reason}") for name, reason in self.missing.items())])

    __repr__ = __str__


@overload
def explain(loss: torch.Tensor, target: torch.nn.Module | Iterable[torch.Tensor], /) -> Explanation: ...
@overload
def explain(tape: Any, loss: Any, variables: Any, /) -> Explanation: ...
def explain(*question: Any) -> Explanation:
    """`explain(loss, module)`, in TensorFlow `explain(tape, loss, variables)`: which parameters does this loss train?

    Inside `whygrad.watch()` the answer names the line that cut a path; elsewhere only autograd's own graph, or what
    the tape watches, can be read, which has no lines. The tape is not used up.
    """
    if len(question) == 3:
        return _of_tape(*question)
    if len(question) != 2:
        raise ValueError("explain() takes a loss and a module, or a tape, a loss and variables")
    return _of_loss(*question)


def _of_tape(tape: Any, loss: Any, variables: Any) -> Explanation:
    if not hasattr(tape, "watched_variables"):
        raise ValueError(f"with three arguments explain() takes a tf.GradientTape first, not {type(tape).__name__}")
    from whygrad.capture.tensorflow import asking

    session = active()
    capture = session.captures.get("tensorflow") if session is not None else None
    return Explanation(*asking.ask(capture, tape, loss, asking.named(variables)))


def gradient_table(gradients: Iterable[Any], variables: Any) -> str:
    """TensorFlow gradients of one step as a table: what arrived where, and what did not.

    `variables` are those the tape was asked about, as a list or as the model they belong to.
    """
    from whygrad.capture.tensorflow import asking

    lines = [("variable", "shape", "norm", "largest", "zeros")]
    for name, shape, found in asking.rows(gradients, variables):
        numbers = (f"{found.norm:.3g}", f"{found.largest:.3g}", f"{found.zeros:.0%}") if found else ("None", "", "")
        lines.append((name, "x".join(str(n) for n in shape) or "()", *numbers))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(visible.line(line.rstrip()) for line in padded)


def _of_loss(loss: torch.Tensor, target: torch.nn.Module | Iterable[torch.Tensor]) -> Explanation:
    from whygrad.capture.torch.leaves import leaves

    named = _named(target)
    found = {id(loss), *map(id, leaves([loss]))}
    reached = tuple(name for name, tensor in named.items() if id(tensor) in found)
    lost = {name: tensor for name, tensor in named.items() if id(tensor) not in found}
    lines = _lines(loss, lost) if lost else None
    missing = {name: _reason(name, tensor, lines) for name, tensor in lost.items()}
    return Explanation(reached, missing, loss.grad_fn is not None or loss.requires_grad)


def _named(target: Any) -> dict[str, torch.Tensor]:
    if hasattr(target, "named_parameters"):
        return dict(target.named_parameters())
    tensors = [target] if hasattr(target, "grad_fn") else list(target)
    return {f"parameter {index} {list(t.shape)}": t for index, t in enumerate(tensors)}


def _lines(loss: torch.Tensor, lost: dict[str, torch.Tensor]) -> dict[str, str] | None:
    """What the watching knows about the missing ones; None where it did not see the loss being made."""
    session = active()
    if session is None or "torch" not in session.captures:
        return None
    from whygrad.capture.torch.asking import ask

    return ask(session.captures["torch"], loss, lost)


def _reason(name: str, tensor: torch.Tensor, lines: dict[str, str] | None) -> str:
    if lines is not None and name in lines:
        return lines[name]
    if not tensor.requires_grad:
        return "frozen (requires_grad is False)"
    if lines is not None:
        return "the loss does not depend on it"
    if active() is not None:
        return "no path in autograd's graph (this loss was not traced; see trace='always')"
    return "no path in autograd's graph (use whygrad.watch() around the forward to see the line)"

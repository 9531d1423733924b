"""The scalars of a record under the tags that TensorBoard and Weights & Biases group by."""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.telemetry.record import Gradient, Record, finite


class Scalars:
    """Remembers how often each optimizer's gradients were clipped."""

    def __init__(self) -> None:
        self._judged: dict[str, tuple[int, int]] = {}

    def of(self, record: Record) -> dict[str, float]:
        """What is not finite is left out: the share of non-finite values says that it was there."""
        return {tag: value for tag, value in self._all(record) if value is not None}

    def _all(self, record: Record) -> Iterator[tuple[str, float | None]]:
        who = record.optimizer
        for kind, whole in (("raw", record.raw), ("clipped", record.clipped)):
            yield f"{kind}/{who}/norm", finite(whole.norm) if whole is not None else None
        for parameter in record.parameters:
            for kind, gradient in (("raw", parameter.raw), ("clipped", parameter.clipped)):
                if gradient is not None:
                    yield from _of_gradient(f"{kind}/{parameter.name}", gradient)
            yield f"update_ratio/{parameter.name}", finite(parameter.ratio)
            yield f"noise/{parameter.name}", finite(parameter.noise)
        yield f"learning_rate/{who}", max((p.rate for p in record.parameters if p.rate is not None), default=None)
        yield f"clip_rate/{who}", self._clip_rate(record)
        yield from of_update(record)

    def _clip_rate(self, record: Record) -> float | None:
        clipped, judged = self._judged.get(record.optimizer, (0, 0))
        if record.was_clipped is not None:
            clipped, judged = clipped + record.was_clipped, judged + 1
            self._judged[record.optimizer] = clipped, judged
        return clipped / judged if judged else None


def of_update(record: Record) -> Iterator[tuple[str, float | None]]:
    """What belongs to the update and not to one parameter."""
    for name, value in record.losses.items():
        yield f"loss/{name}", finite(value)
    for name, value in record.signals.items():
        yield f"signals/{name}", finite(value)
    for term, norms in record.terms.items():
        for module, norm in norms.items():
            yield f"term/{_one_level(term)}/{module}", finite(norm)
    for layer, activation in record.activations.items():
        for name, share in activation.numbers.items():
            yield f"activation/{layer}/{name}", share


def _one_level(written: str) -> str:
    """A term as written may divide; a slash would open one more level."""
    return written.replace("/", "÷")


def _of_gradient(tag: str, gradient: Gradient) -> Iterator[tuple[str, float | None]]:
    yield f"{tag}/norm", finite(gradient.norm)
    yield f"{tag}/max", finite(gradient.largest)
    yield f"{tag}/zeros", gradient.zeros
    if gradient.nonfinite:
        yield f"{tag}/nonfinite", gradient.nonfinite

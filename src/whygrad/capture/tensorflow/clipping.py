"""Clipping: by the user's call or by the optimizer's own limits, with the norms before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from whygrad.capture import detours
from whygrad.capture.clock import remember
from whygrad.capture.detours import Detours, Function
from whygrad.capture.tensorflow.places import Where, where
from whygrad.capture.tensorflow.statistics import limit_of, limited
from whygrad.trace import Clip

if TYPE_CHECKING:
    from whygrad.capture.tensorflow.capture import Capture
    from whygrad.capture.tensorflow.stepping import Held, Pairs

EACH = "each"
"""One limit for every variable by itself."""
HOW = {"clipnorm": EACH, "global_clipnorm": "norm", "clipvalue": "value"}


class Clipping:
    """What limits the gradients of a step."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.clips: list[Clip] = []
        self._place: Any = None

    def follow(self, during: Detours) -> None:
        """The functions that users and TF-Agents clip by."""
        during.set(tf, "clip_by_global_norm", partial(self._limiting, how="norm"))
        during.set(tf, "clip_by_norm", partial(self._limiting, how=EACH))

    def _limiting(self, original: Function, how: str) -> Function:
        capture = self.capture

        def clip(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            frame = detours.caller()
            if capture.tracing and not capture.recorder.paused:
                given = args[0] if args else kwargs.get("t_list", kwargs.get("t"))
                limit = args[1] if len(args) > 1 else kwargs.get("clip_norm")
                before, after = (given, result[0]) if how == "norm" else ([given], [result])
                capture.guard(lambda: self.called(how, before, after, limit, where(frame)), "clipping")
            return result

        return clip

    def called(self, how: str, before: Any, after: Any, limit: Any, place: Where) -> None:
        """A clipping function was given gradients."""
        rows = [(number, b, a) for b, a in zip(before, after, strict=True) for number in self._parameters(b)]
        if not rows or not isinstance(limit, (int, float)):
            return
        clip = self._clip(how, float(limit), place)
        clip.parameters |= {number for number, _, _ in rows}
        clip.present = clip.parameters
        clip.size = _grown(clip.size, [b for _, b, _ in rows])
        clip.after = _grown(clip.after, [a for _, _, a in rows])

    def _parameters(self, gradient: Any) -> list[int]:
        node = self.capture.shadow.get(getattr(gradient, "values", gradient)) if gradient is not None else None
        return [node.gradient[1]] if node is not None and node.gradient is not None else []

    def _clip(self, how: str, limit: float, place: Where) -> Clip:
        """One for all variables that a loop clips one by one."""
        last = self.clips[-1] if self.clips else None
        key = (place.user[:1], place.library)
        if last is not None and how == EACH and self._place == key and last.order == self.capture.clock.now:
            return last
        self._place = key
        clip = Clip(place.site, frozenset(), limit, self.capture.clock.tick(), how)
        remember(self.clips, clip)
        return clip

    def applied(self, held: Held, pairs: Pairs, place: Where) -> None:
        """The optimizer's own `clipnorm`, `global_clipnorm` and `clipvalue`."""
        limit = limit_of(held.ref())
        present = [(g, n) for g, v in pairs if g is not None and (n := self.capture.stepping.number(v)) is not None]
        if limit is None or not present:
            return
        numbers = frozenset(n for _, n in present)
        clip = Clip(place.site, numbers, limit[1], self.capture.clock.tick(), HOW[limit[0]], numbers)
        arrays = [g._numpy_internal() for g, _ in present if hasattr(g, "_numpy_internal")]
        if len(arrays) == len(present):
            clip.size, clip.after = _norm(arrays), _norm(limited(arrays, limit))
        remember(self.clips, clip)

    def measured(self, numbers: list[int], before: list[Any], after: list[Any]) -> None:
        """A step inside a function was sampled: its clips had no numbers when the function was traced."""
        waiting = [c for c in self.clips if c.size is None and c.parameters and c.parameters.issubset(numbers)]
        for clip in waiting:
            clip.size, clip.after = _norm(before), _norm(after)


def _grown(size: float | None, tensors: list[Any]) -> float | None:
    """The norm with these as well; None as long as numbers are not at hand."""
    arrays = [t._numpy_internal() for t in tensors if hasattr(t, "_numpy_internal")]
    return float(np.hypot(size or 0.0, _norm(arrays))) if len(arrays) == len(tensors) else size


def _norm(arrays: list[Any]) -> float:
    return float(np.sqrt(sum(float(np.sum(np.square(array))) for array in arrays)))

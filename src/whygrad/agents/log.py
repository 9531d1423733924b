"""What training leaves behind: episode returns and metrics, each with the step it belongs to."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

Progress = Callable[[int, int, float], object]
"""Called now and then with the step, the number of steps and the recent return; a true answer ends the training."""
POINTS = 200
"""How often metrics are recorded over a whole training, by agents that update every few steps."""
REPORTED = 500
"""Steps after which progress is told again at the latest: somebody may have asked to stop."""
Point = tuple[int, float]


class Log:
    """Written to while training; `Result` shows it."""

    def __init__(self, steps: int, progress: Progress | None = None) -> None:
        self.steps = steps
        self.step = 0
        """Environment steps so far, over all environments."""
        self.returns: list[Point] = []
        self.curves: dict[str, list[Point]] = {}
        self._progress = progress
        self._every = max(1, steps // POINTS)
        self._next = 0
        self._stopped = False
        self._record = 0

    def ended(self, value: float) -> None:
        """An episode ended with this return."""
        self.returns.append((self.step, value))

    def record(self, **values: float | Tensor) -> None:
        for name, value in values.items():
            number = float(value.detach()) if isinstance(value, Tensor) else value
            self.curves.setdefault(name, []).append((self.step, number))

    def sometimes(self, **values: float | Tensor) -> None:
        """Record now and then, for agents that update every few steps: reading a number costs as much as a layer."""
        if self.step >= self._record:
            self._record = self.step + self._every
            self.record(**values)

    def recent(self, episodes: int = 20) -> float:
        """Mean return of the last episodes; not a number before the first has ended."""
        last = [value for _, value in self.returns[-episodes:]]
        return sum(last) / len(last) if last else float("nan")

    def going(self) -> bool:
        """Whether there are steps left and nobody asked to stop."""
        if self._progress is not None and self.step >= self._next:
            self._next = self.step + min(self._every, REPORTED)
            self._stopped = bool(self._progress(self.step, self.steps, self.recent()))
        return self.step < self.steps and not self._stopped

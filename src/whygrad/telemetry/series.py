"""A series of any length in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST = 64


@dataclass(slots=True)
class Series:
    """Every n-th point, where n doubles whenever there are too many; the latest one is always there."""

    points: list[tuple[int, float]] = field(default_factory=list)
    stride: int = 1
    count: int = 0
    latest: tuple[int, float] | None = None

    def add(self, update: int, value: float) -> None:
        self.latest = (update, value)
        if self.count % self.stride == 0:
            self.points.append(self.latest)
            if len(self.points) > MOST:
                del self.points[1::2]
                self.stride *= 2
        self.count += 1

    def shown(self) -> list[tuple[int, float]]:
        last = self.latest
        return [*self.points, last] if last is not None and self.points[-1:] != [last] else list(self.points)

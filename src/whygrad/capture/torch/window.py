"""When to trace: from the start until everything has been seen a few times, then rarely."""

from __future__ import annotations

MOST_CALLS_WITHOUT_BACKWARD = 300_000
MOST_SYMPTOMS = 8
TRACED_PER_SYMPTOM = 3
REARMED_AT = (20, 40, 80, 160, *(n for k in range(8) for n in (400 * 5**k // 2**k, 640 * 5**k // 2**k)))
"""Updates at which one more is traced: phases, schedules and slow decay show only later."""
PATIENCE = 4
"""Steps per optimizer and traced update after which a window closes, whoever has not come by."""


class Window:
    """Decides, per backward site and optimizer, whether enough has been traced."""

    def __init__(self, updates: int, policy: str) -> None:
        self.updates = updates
        self.policy = policy
        self.open = policy != "off"
        self._sites: dict[tuple[int, ...], int] = {}
        self._optimizers: dict[int, int] = {}
        self._rearmed = 0
        self._symptoms = 0
        self._came: set[int] = set()
        """Optimizers that have stepped in the window that is open."""
        self._left = 0
        """Steps until a window that was opened again closes in any case."""

    @property
    def first(self) -> bool:
        """Nothing has opened it again yet."""
        return not self._rearmed and not self._symptoms

    def backward(self, place: tuple[int, ...]) -> bool:
        """Count a backward; True when its site has not been traced enough."""
        count = self._sites.get(place)
        if self.open or count is None:
            self._sites[place] = (count or 0) + (1 if self.open else 0)
        return self._sites[place] < self.updates

    def step(self, optimizer: int) -> bool:
        count = self._optimizers.get(optimizer)
        if self.open:
            self._left -= 1
            self._came.add(optimizer)
        # Opened again in the middle of an update: steps count once every loss has come by.
        counts = self.open and (self.first or self._seen())
        if counts or count is None:
            self._optimizers[optimizer] = (count or 0) + (1 if counts else 0)
        return self._optimizers[optimizer] < self.updates

    def should_open(self, total: int, unseen: bool, symptom: bool) -> bool:
        if self.policy != "auto":
            return False
        if symptom and self._symptoms < MOST_SYMPTOMS:
            self._symptoms += 1
            self._again(TRACED_PER_SYMPTOM)
            return True
        if self._rearmed < len(REARMED_AT) and total >= REARMED_AT[self._rearmed]:
            self._rearmed += 1
            self._again(1)
            return True
        if unseen:
            self._left = PATIENCE * self.updates * (1 + len(self._optimizers))
        return unseen

    def again(self, times: int) -> None:
        """Every loss so many times more, as somebody asks for."""
        self._symptoms += 1
        self._again(times)

    def _seen(self) -> bool:
        return all(count >= self.updates for count in self._sites.values())

    def _again(self, times: int) -> None:
        """Every loss and every optimizer so many times more, unless they do not come."""
        self._sites = dict.fromkeys(self._sites, max(0, self.updates - times))
        self._optimizers = dict.fromkeys(self._optimizers, max(0, self.updates - times))
        self._left = PATIENCE * times * max(1, len(self._optimizers))

    def should_close(self, calls_since_backward: int) -> bool:
        if self.policy != "auto":
            return False
        if calls_since_backward > MOST_CALLS_WITHOUT_BACKWARD:
            return True
        if not self.first and self._left <= 0:
            # A loss that is over and done with must not have its optimizer traced for ever.
            self._optimizers.update(dict.fromkeys(self._came, self.updates))
            self._came.clear()
            return True
        return self._seen() and bool(self._optimizers) and all(c >= self.updates for c in self._optimizers.values())

"""Ways to see gradients: whygrad, and what people paste into their scripts. Each has a process of its own."""

from __future__ import annotations

import importlib.util
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from ways import Ways
from whygrad.capture.torch import Capture, Options
from workloads import Between, Workload, nothing


class Contestant:
    """The plain loop, and what the others have in common: on for the life of their process."""

    between: Between = staticmethod(nothing)
    """Called between backward and step."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    @property
    def busy(self) -> bool:
        """Something has been begun that belongs to this round."""
        return False

    @property
    def windows(self) -> int:
        """Re-traced stretches so far."""
        return 0

    @property
    def account(self) -> str:
        """What it says about its own cost."""
        return ""

    def begin(self) -> None:
        """A round begins."""

    def end(self) -> None:
        """A round is over."""

    def aside(self) -> None:
        """A bare round follows, in the same process."""

    def back(self) -> None:
        """It is over."""

    def close(self) -> None:
        return


class Stopwatch:
    """Stands still while somebody else's round is measured: the budget is a share of one's own time."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._since: float | None = None

    def __call__(self) -> float:
        return self._passed + (time.perf_counter() - self._since if self._since is not None else 0.0)

    def go(self) -> None:
        self._since = time.perf_counter()

    def stop(self) -> None:
        self._passed, self._since = self(), None


class Whygrad(Contestant):
    """Attached once, as in a run."""

    share = 0.02

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.samples = 0
        self.capture = Capture(Options(budget=self.share, emit=self._count))
        self.clock = Stopwatch()
        self.capture.sampling.budget.clock = self.clock
        self.ways = Ways(self.capture.start)

    def _count(self, _: Any) -> None:
        self.samples += 1

    def begin(self) -> None:
        self.clock.go()

    @property
    def busy(self) -> bool:
        """A window is not left open."""
        return self.capture.tracing

    @property
    def windows(self) -> int:
        return self.capture.windows

    @property
    def account(self) -> str:
        share = self.capture.sampling.budget.spent / max(self.clock(), 1e-9)
        return f"{self.samples} samples and {self.windows} windows in {self.clock():.1f} s; it says {share:.2%} itself"

    def end(self) -> None:
        self.clock.stop()
        if self.capture.guard.broken is not None:
            raise RuntimeError(f"whygrad stopped watching: {self.capture.guard.broken}")

    def aside(self) -> None:
        self.ways.close()

    def back(self) -> None:
        self.ways.open()

    def close(self) -> None:
        self.capture.stop()


class Unsampled(Whygrad):
    share = 0.0


class EveryUpdate(Whygrad):
    share = 1.0


class NormLoop(Contestant):
    def between(self) -> None:
        for parameter in self.workload.model.parameters():
            if parameter.grad is not None:
                parameter.grad.norm().item()


class TensorBoard(Contestant):
    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        from torch.utils.tensorboard import SummaryWriter

        self.folder = tempfile.TemporaryDirectory()
        self.writer: Any = SummaryWriter(self.folder.name)
        self.count = 0

    def between(self) -> None:
        self.count += 1
        for name, parameter in self.workload.model.named_parameters():
            if parameter.grad is not None:
                self.writer.add_histogram(name, parameter.grad, self.count)

    def close(self) -> None:
        self.writer.close()
        self.folder.cleanup()


class Anomaly(Contestant):
    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        warnings.simplefilter("ignore")
        torch.autograd.set_detect_anomaly(True)


class WandbEvery(Contestant):
    """`wandb.watch(log="all", log_freq=1)`, offline; what it collects goes out with a log call per update."""

    options: dict[str, Any] = {"log": "all", "log_freq": 1}  # noqa: RUF012

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        import wandb

        self.folder = tempfile.TemporaryDirectory()
        settings = wandb.Settings(silent=True, console="off")
        self.run = wandb.init(mode="offline", dir=self.folder.name, settings=settings)
        self.run.watch(workload.model, **self.options)

    def between(self) -> None:
        self.run.log({"update": 1})

    def close(self) -> None:
        self.run.finish()
        self.folder.cleanup()


class WandbDefault(WandbEvery):
    """`wandb.watch()`: gradients of every thousandth update. Its rounds are shorter, so this is the hooks alone."""

    options: dict[str, Any] = {}  # noqa: RUF012
    between: Between = staticmethod(nothing)


Entry = Callable[[Workload], Contestant]
ALWAYS: dict[str, Entry] = {"plain": Contestant, "whygrad": Whygrad, "whygrad, --budget 0": Unsampled}
"""Measured in every round."""
OTHERS: dict[str, tuple[Entry, str]] = {
    "whygrad, every update": (EveryUpdate, ""),
    "norm().item() loop": (NormLoop, ""),
    "detect_anomaly": (Anomaly, ""),
    "TensorBoard histograms": (TensorBoard, "tensorboard"),
    "wandb.watch(log='all', log_freq=1)": (WandbEvery, "wandb"),
    "wandb.watch()": (WandbDefault, "wandb"),
}
"""With the package that each one needs."""


def present() -> tuple[dict[str, Entry], list[str]]:
    """Those of the others that can run here, and the names of those that cannot."""
    found = {name: entry for name, (entry, package) in OTHERS.items() if not package or _installed(package)}
    return found, [name for name in OTHERS if name not in found]


def _installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None

"""Ways to see gradients: whygrad, and what people paste into their scripts. Each can be switched on and off again."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from whygrad.capture.torch import Capture, Options
from workloads import Between, Workload, nothing


class Contestant:
    """The plain loop, and what the others have in common: on for the length of a round, then off."""

    between: Between = staticmethod(nothing)
    """Called between backward and step."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload

    def begin(self) -> None:
        return

    @property
    def busy(self) -> bool:
        """Something has been begun that belongs to this round."""
        return False

    def end(self) -> None:
        return

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
    """One capture for the whole comparison, as in a run that goes on.

    Between its rounds nothing of it is called in an update: the functions that differentiate are torch's own again, and
    no optimizer hook is registered. What it replaces in classes (constructors, `train()`) stays, because a change to a
    class makes Python forget what it has learnt about all code that uses it, and the next rounds would pay for that.
    """

    share = 0.02
    functions = ("backward", "grad")

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.samples = 0
        self.capture = Capture(Options(budget=self.share, emit=self._count))
        self.clock = Stopwatch()
        self.capture.sampling.budget.clock = self.clock
        self.own: dict[str, Any] = {}
        """Our versions of torch's functions, once the watching has begun."""

    def _count(self, _: Any) -> None:
        self.samples += 1

    def begin(self) -> None:
        self.clock.go()
        self.torchs = {name: getattr(torch.autograd, name) for name in self.functions}
        if not self.own:
            self.capture.start()
            self.own = {name: getattr(torch.autograd, name) for name in self.functions}
            return
        for name, function in self.own.items():
            setattr(torch.autograd, name, function)
        self.capture.protocol._hooks = [register_optimizer_step_pre_hook(self.capture.protocol._pre_step)]

    @property
    def busy(self) -> bool:
        """A window is not left open."""
        return self.capture.tracing

    def end(self) -> None:
        for name, function in self.torchs.items():
            setattr(torch.autograd, name, function)
        self.capture.protocol.unhook()
        self.clock.stop()
        if self.capture.guard.broken is not None:
            raise RuntimeError(f"whygrad stopped watching: {self.capture.guard.broken}")

    def close(self) -> None:
        self.capture.stop()

    @property
    def spent(self) -> float:
        """What it thinks it has cost, as a share."""
        return self.capture.sampling.budget.spent / max(self.clock(), 1e-9)


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
    def begin(self) -> None:
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        self.stack.enter_context(torch.autograd.detect_anomaly())

    def end(self) -> None:
        self.stack.close()


class Run:
    """One offline run of Weights & Biases for all who need it: its hooks only know the latest."""

    users = 0
    run: Any = None
    folder: Any = None

    @classmethod
    def join(cls) -> Any:
        import wandb

        if not cls.users:
            cls.folder = tempfile.TemporaryDirectory()
            settings = wandb.Settings(silent=True, console="off")
            cls.run = wandb.init(mode="offline", dir=cls.folder.name, settings=settings)
        cls.users += 1
        return cls.run

    @classmethod
    def leave(cls) -> None:
        cls.users -= 1
        if not cls.users:
            cls.run.finish()
            cls.folder.cleanup()


class WandbEvery(Contestant):
    """`wandb.watch(log="all", log_freq=1)`, offline; what it collects goes out with a log call per update."""

    options: dict[str, Any] = {"log": "all", "log_freq": 1}  # noqa: RUF012

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.run = Run.join()

    def begin(self) -> None:
        self.run.watch(self.workload.model, **self.options)

    def between(self) -> None:
        self.run.log({"update": 1})

    def end(self) -> None:
        self.run.unwatch(self.workload.model)

    def close(self) -> None:
        Run.leave()


class WandbDefault(WandbEvery):
    """`wandb.watch()`: gradients of every thousandth update. Its rounds are shorter, so this is the hooks alone."""

    options: dict[str, Any] = {}  # noqa: RUF012
    between: Between = staticmethod(nothing)


Entry = Callable[[Workload], Contestant]
ALWAYS: dict[str, Entry] = {"whygrad": Whygrad, "whygrad, --budget 0": Unsampled}
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

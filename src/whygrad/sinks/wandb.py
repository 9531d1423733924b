"""`--wandb`: into the script's own run where it has one, else into one that is started for it."""

from __future__ import annotations

import os
from typing import Any

from whygrad.sinks.scalars import Scalars
from whygrad.telemetry.record import Gradient, Record


class Wandb:
    title = "--wandb"

    def __init__(self) -> None:
        self._own: Any = None
        self._wandb: Any = None
        self._scalars = Scalars()

    def write(self, record: Record) -> None:
        if self._wandb is None:
            import wandb

            self._wandb = wandb
        wandb = self._wandb
        data: dict[str, Any] = dict(self._scalars.of(record))
        for parameter in record.parameters:
            for kind, gradient in (("raw", parameter.raw), ("clipped", parameter.clipped)):
                if gradient is not None and gradient.histogram.total:
                    data[f"{kind}/{parameter.name}"] = self._histogram(gradient)
        if self._own is None and wandb.run is not None:
            wandb.run.log(data, commit=False)  # It goes out with what the script logs next, at the script's step.
            return
        if self._own is None:
            self._own = self._start()
        self._own.log(data, step=record.update)

    def _start(self) -> Any:
        """Without an account the run is kept on disk; `wandb sync` uploads it later."""
        wandb = self._wandb
        mode = os.environ.get("WANDB_MODE") or ("online" if os.environ.get("WANDB_API_KEY") else "offline")
        return wandb.init(mode=mode, settings=wandb.Settings(silent=True, console="off"))

    def _histogram(self, gradient: Gradient) -> Any:
        buckets = list(gradient.histogram.buckets())
        edges = [buckets[0][0], *(high for _, high, _ in buckets)]
        return self._wandb.Histogram(np_histogram=([count for _, _, count in buckets], edges))

    def close(self) -> None:
        if self._own is not None:
            self._own.finish()

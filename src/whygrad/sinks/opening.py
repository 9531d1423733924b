"""From what was asked for to destinations; what cannot work is said before the script starts."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from whygrad import private_file
from whygrad.sinks.jsonlines import JsonLines
from whygrad.sinks.live import Live
from whygrad.sinks.page import LivePage
from whygrad.sinks.parquet import Parquet
from whygrad.sinks.sink import Outlets, Sink, SinkError
from whygrad.sinks.tensorboard import TensorBoard
from whygrad.sinks.wandb import Wandb
from whygrad.telemetry.summary import Summary


@dataclass(frozen=True)
class Destinations:
    """Paths are those of the moment when watching was asked for, wherever the script goes later."""

    tensorboard: Path | None = None
    wandb: bool = False
    log: Path | None = None
    live: Path | None = None
    script: str = ""
    page: LivePage | None = None

    @property
    def asked(self) -> bool:
        """Whether telemetry is to go anywhere but into the report."""
        return self.tensorboard is not None or self.wandb or self.log is not None or self.page is not None

    def check(self) -> None:
        """Raise unless everything that was asked for can be written."""
        if self.tensorboard is not None:
            _needs("tensorboard", "--tensorboard")
            if self.tensorboard.exists() and not self.tensorboard.is_dir():
                raise SinkError(f"--tensorboard {self.tensorboard}: is a file, not a folder")
        if self.wandb:
            _needs("wandb", "--wandb")
        if self.log is not None:
            if self.log.suffix == ".parquet":
                _needs("pyarrow", f"--log {self.log}", "; or name a .jsonl file")
            if not private_file.writable(self.log):
                raise SinkError(f"--log {self.log}: cannot be written")

    def open(self, summary: Summary) -> Outlets:
        sinks: list[Sink] = []
        if self.log is not None:
            sinks.append(Parquet(self.log) if self.log.suffix == ".parquet" else JsonLines(self.log))
        if self.tensorboard is not None:
            sinks.append(TensorBoard(self.tensorboard))
        if self.wandb:
            sinks.append(Wandb())
        if self.live is not None:
            sinks.append(Live(self.live, summary, self.script))
        if self.page is not None:
            sinks.append(self.page)
        return Outlets(sinks)


def _needs(package: str, option: str, otherwise: str = "") -> None:
    spec = importlib.util.find_spec(package)
    # A folder of that name, such as the one wandb keeps its runs in, is no package.
    if spec is None or spec.origin is None:
        raise SinkError(f"{option} needs the {package} package: pip install {package}{otherwise}")

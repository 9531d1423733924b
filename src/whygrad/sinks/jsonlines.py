"""`--log FILE`: one JSON object per sampled update."""

from __future__ import annotations

import json
from pathlib import Path

from whygrad.sinks.growing import Growing
from whygrad.telemetry.record import Record


class JsonLines:
    def __init__(self, file: Path) -> None:
        self.title = f"--log {file}"
        self._file = Growing(file)

    def write(self, record: Record) -> None:
        line = json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False) + "\n"
        self._file.write(line.encode())

    def close(self) -> None:
        self._file.close()

"""`--log FILE`: one JSON object per sampled update."""

from __future__ import annotations

import json
from pathlib import Path

from whygrad.telemetry.record import Record


class JsonLines:
    def __init__(self, file: Path) -> None:
        self.title = f"--log {file}"
        self._stream = file.open("w", encoding="utf-8")

    def write(self, record: Record) -> None:
        self._stream.write(json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False) + "\n")
        self._stream.flush()  # Somebody may be following the file.

    def close(self) -> None:
        self._stream.close()

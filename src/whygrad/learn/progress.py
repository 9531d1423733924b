"""What a learner has done so far, in a small file in their folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = ".progress.json"
VERSION = 1


@dataclass
class Progress:
    passed: set[str] = field(default_factory=set)
    hints: dict[str, int] = field(default_factory=dict)
    """How many were shown, by exercise."""
    current: str = ""

    def save(self, file: Path) -> None:
        """Whole or not at all."""
        data = {"version": VERSION, **asdict(self), "passed": sorted(self.passed)}
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        fresh.replace(file)


def load(file: Path) -> Progress:
    """Nothing has been done where there is no file; a file that makes no sense is not overwritten."""
    if not file.exists():
        return Progress()
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}")
        return Progress(
            set(map(str, data["passed"])), {str(k): int(n) for k, n in data["hints"].items()}, data["current"]
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} cannot be understood ({error}); move it away to start again") from error

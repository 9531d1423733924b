"""CleanRL-style scripts: `whygrad probe --script train.py`, run once per probe with the environment's id.

Nothing can be asked of a script, so the verdicts come from what the environment wrote down: the rewards and actions of
the last steps, and the values where the script shows a value function by one of CleanRL's names.
"""

from __future__ import annotations

import json as plain_json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from whygrad.probe import tape
from whygrad.probe.answer import Answer, Settings
from whygrad.probe.catalogue import Probe
from whygrad.probe.protocol import ASSUMED, ProtocolError
from whygrad.probe.registration import OPTIONS, identity
from whygrad.report import json

NO_VALUE = "no value function is visible in the script (looked for agent.get_value, q_network, qf1 with actor)"


class Script:
    """A subject that is a file."""

    def __init__(self, file: str, env_arg: str = "--env-id", arguments: tuple[str, ...] = ()) -> None:
        if not Path(file).is_file():
            raise ProtocolError(f"can't open {file!r}: no such file")
        self.name = file
        self._file, self._env_arg, self._arguments = file, env_arg, arguments
        self._blind = False

    def kinds(self, settings: Settings) -> str:
        return "continuous" if settings.continuous else "discrete"

    def answer(self, probe: Probe, settings: Settings) -> Answer:
        answer = Answer()
        if probe.only_for in ("recurrent", "players") and probe.name.lower() not in settings.named:
            answer.unasked = f"ask for it by name: --only {probe.name}"
        elif probe.asks == "values" and self._blind:
            answer.unasked = NO_VALUE
        else:
            for arguments in probe.runs:
                self._run(probe, arguments, settings, answer)
                if answer.raised or answer.unasked:
                    break
        return answer

    def _run(self, probe: Probe, arguments: dict[str, Any], settings: Settings, answer: Answer) -> None:
        options = {"image": settings.image, "continuous": settings.continuous, "seed": settings.seed, **arguments}
        with tempfile.TemporaryDirectory() as folder:
            taped, watched = Path(folder) / "tape.json", Path(folder) / "watched.json"
            done = self._start(probe, options, settings, taped, watched)
            last = _last_line(_own_words(done.stderr, watched))
            if not taped.exists():
                said = last or f"; it was given the environment as {self._env_arg} (see --env-arg)"
                raise ProtocolError(
                    f"{self.name} ended with status {done.returncode} before its first step in "
                    f"{identity(probe.name)}{said}"
                )
            self._read(probe, plain_json.loads(taped.read_text(encoding="utf-8")), answer)
            if settings.watch and watched.exists():
                report = json.load(watched)
                answer.findings += report.findings
                answer.roles |= report.roles
                answer.source |= report.source
        if done.returncode:
            answer.raised = f"status {done.returncode}{last}"

    def _start(
        self, probe: Probe, options: dict[str, Any], settings: Settings, taped: Path, watched: Path
    ) -> subprocess.CompletedProcess[str]:
        watching = ["-m", "whygrad", "run", "--fail-on", "never", "--budget", "0"]
        watching += ["--format", "json", "--json", str(watched)]
        return subprocess.run(
            [sys.executable, *(watching if settings.watch else ()), self._file, *self._given(probe)],
            env={
                "OMP_NUM_THREADS": "1",  # Networks this small only wait for each other's threads.
                **os.environ,
                tape.FILE: str(taped),
                tape.STEPS: str(settings.steps),
                OPTIONS: plain_json.dumps(options),
            },
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def _given(self, probe: Probe) -> list[str]:
        """The id with its module in front, which gymnasium imports: the script knows nothing of whygrad."""
        return [self._env_arg, f"whygrad.probe:{identity(probe.name)}", *self._arguments]

    def _read(self, probe: Probe, taped: dict[str, Any], answer: Answer) -> None:
        gamma = taped["gamma"]
        answer.gamma = ASSUMED if gamma is None else float(gamma)
        if probe.asks == "values":
            self._blind = taped["values"] is None
            answer.unasked = NO_VALUE if self._blind else ""
            answer.observed |= {f"V({state})": value for state, value in (taped["values"] or {}).items()}
        elif probe.asks == "actions":
            about = taped["notes"][0]["about"]
            mean = np.mean([note["push"] for note in taped["notes"]], axis=0)
            answer.observed |= {f"{about}[{index}]": float(number) for index, number in enumerate(mean)}
        else:
            earned: dict[str, list[float]] = {}
            for note in taped["notes"]:
                earned.setdefault(note["about"], []).append(note["reward"])
            answer.observed |= {f"reward({about})": float(np.mean(earned[about])) for about in sorted(earned)}


def _own_words(said: str, watched: Path) -> str:
    """What the script itself wrote: the report stands there as it stands in its file."""
    return said.replace(watched.read_text(encoding="utf-8"), "") if watched.exists() else said


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f": {lines[-1].strip()}" if lines else ""

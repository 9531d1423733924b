"""whygrad waits for the script to import TensorFlow; it never does so itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import whygrad

EVERYTHING = f"""
import importlib, sys
import whygrad
for name in {whygrad.__all__!r}:
    getattr(whygrad, name)
for name in ("whygrad.cli.main", "whygrad.cli.run", "whygrad.cli.learn", "whygrad.learn.course", "whygrad.rules"):
    importlib.import_module(name)
assert not {{"tensorflow", "keras", "tf_keras", "torch"}} & set(sys.modules)
"""


def ran(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)


def test_importing_whygrad_imports_no_framework(tmp_path: Path) -> None:
    done = ran(tmp_path, "-c", EVERYTHING)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("sink", [[], ["--log", "out.jsonl"]])
def test_a_script_without_tensorflow_stays_without_it(tmp_path: Path, sink: list[str]) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint('tensorflow' in sys.modules)\n", encoding="utf-8")
    done = ran(tmp_path, "-m", "whygrad", "run", *sink, "train.py")
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "imported neither torch nor tensorflow" in done.stderr

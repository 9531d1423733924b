"""Real reports for docs/gallery: a healthy PPO, a broken DQN, a leaking actor-critic.

Runs the scripts under whygrad from the repository's root and keeps their pages; where Chromium is installed it also
takes the pictures that docs/gallery/index.md shows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs/gallery"
SCRIPTS = {
    "healthy-ppo": "benchmarks/healthy/ppo.py",
    "broken-dqn": "examples/dqn_corridor.py",
    "leaking-actor-critic": "examples/actor_critic_leak.py",
}
WIDTH, HEIGHT = 1280, 1000


def run(name: str, script: str) -> Path:
    """The page of one run."""
    file = GALLERY / f"{name}.html"
    command = [sys.executable, "-m", "whygrad", "run", "--fail-on", "never", "--quiet", "--html", str(file), script]
    _quietly(command)
    return file


def _quietly(command: list[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def picture(chromium: str, file: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="whygrad-gallery-", ignore_cleanup_errors=True) as profile:
        command = [chromium, "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={profile}"]
        command += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={file.with_suffix('.png')}", file.as_uri()]
        _quietly(command)


def main() -> None:
    GALLERY.mkdir(exist_ok=True)
    chromium = shutil.which("chromium")
    for name, script in SCRIPTS.items():
        file = run(name, script)
        if chromium is not None:
            picture(chromium, file)
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1000:.0f} kB  from {script}")


if __name__ == "__main__":
    main()

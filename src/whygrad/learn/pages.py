"""The pages in docs/learn, made from the exercises: `python -m whygrad.learn.pages docs/learn`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from pathlib import Path

from whygrad.learn.course import Exercise, exercises

TRACKS = {
    "1_autograd": "Autograd, answer by answer",
    "2_blocks": "Building blocks, answer by answer",
}
PREFACE = """\
# {title}

The answers to track `{track}` of `whygrad learn`, with the reasoning. They are more use after you have tried:
`whygrad learn check NAME` says what is missing in yours. This page is made from the exercises, and its numbers are
computed by the tests.
"""


def pages() -> dict[str, str]:
    """By file name."""
    grouped = itertools.groupby(exercises(), lambda exercise: exercise.track)
    return {f"{track}.md": page(track, group) for track, group in grouped if track in TRACKS}


def page(track: str, group: Iterable[Exercise]) -> str:
    sections = [_section(exercise) for exercise in group]
    return "\n".join([PREFACE.format(title=TRACKS[track], track=track), *sections])


def _section(exercise: Exercise) -> str:
    task = exercise.task.partition("\n")[2].strip()
    return f"## {exercise.title}\n\n{task}\n\n{exercise.why}\n\nOne answer:\n\n```python\n{exercise.solution}```\n"


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0] if arguments else "docs/learn")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs scripts under whygrad one after another, each in a child of a process that has torch imported already.

Importing torch is most of what a short script costs. Reads one JSON object a line (`folder`, `script`) and
answers each with the exit status of `whygrad run --json report.json script`.
"""

from __future__ import annotations

import json
import os
import signal
import sys

LIMIT = 120


def born(folder: str, script: str) -> int:
    """In the child: the same as the command line, with nothing to say."""
    from whygrad.cli.main import main

    signal.alarm(LIMIT)
    os.chdir(folder)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    sys.path[0] = folder
    return main(["run", "--json", "report.json", script])


def serve() -> None:
    import torch._dynamo  # The first optimizer imports it, which takes more than a second (torch 2.13).
    import torch.distributions  # noqa: F401  What nearly every script imports.

    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 70
            try:
                status = born(request["folder"], request["script"])
            finally:
                os._exit(status)
        _, waited = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(waited), flush=True)


if __name__ == "__main__":
    serve()

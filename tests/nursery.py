"""Runs scripts under whygrad one after another, each in a child of a process that has a framework imported already.

Importing it is most of what a short script costs. Reads one JSON object a line (`folder`, `script`, perhaps `limit` in
seconds) and answers each with the exit status of `whygrad run --json report.json script`. The arguments are the modules
to import.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

LIMIT = 120


def born(folder: str, script: str, limit: int) -> int:
    """In the child: the same as the command line, with nothing to say."""
    from whygrad.cli.main import main

    signal.alarm(limit)
    os.chdir(folder)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    sys.path[0] = folder
    return main(["run", "--json", "report.json", script])


def serve(modules: list[str]) -> None:
    for module in modules:
        importlib.import_module(module)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            status = 70
            try:
                status = born(request["folder"], request["script"], request.get("limit", LIMIT))
            finally:
                os._exit(status)
        _, waited = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(waited), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1:])

"""Defects of earlier days, put back one at a time into a copy of whygrad: the comparison must notice each.

python tests/differential/defects.py [--jobs 2] [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import whygrad

HOME = Path(whygrad.__file__).parent
COMPARISON = Path(__file__).with_name("comparison.py")


@dataclass(frozen=True)
class Defect:
    name: str
    kind: str
    """One that must show it."""
    file: str
    changes: tuple[tuple[str, str], ...]
    """What stands there, and what stood there."""


DEFECTS = (
    Defect(
        "a script's own function in the place of torch's is overruled",
        "patches/clip_norm_replaced",
        "capture/detours.py",
        (
            ("if isinstance(plain, FunctionType):", "if False:"),
            ("if vars(owner).get(name, _ABSENT) is not bound:", "if False:"),
        ),
    ),
    Defect(
        "operations are recorded while jit.trace writes them down",
        "features/jit_traced_first",
        "capture/torch/elsewhere.py",
        (("    if _tracing() is not None:\n        return True\n", ""),),
    ),
    Defect(
        "exceptions of the script's signal handlers are swallowed",
        "signals/alarm_that_raises",
        "capture/blame.py",
        (
            (
                "if not isinstance(error, Exception) or not _raised_by_us(error.__traceback__, guests):\n"
                "        return False",
                "return True",
            ),
        ),
    ),
    Defect(
        "the report goes into a file of the script's that got our descriptor",
        "descriptors/all_closed_and_reused",
        "cli/own_stream.py",
        (("if _what(number) == self._what:", "if True:"), ("FIRST = 700", "FIRST = 3")),
    ),
    Defect(
        "Ctrl-C ends with a status instead of the signal",
        "signals/interrupted_by_default",
        "cli/ending.py",
        (("    raise KeyboardInterrupt\n", "    sys.exit(130)\n"),),
    ),
    Defect(
        "warnings name whygrad's own lines",
        "warnings/torch_warnings",
        "capture/standins.py",
        (("if sys.gettrace() is not None or sys.getprofile() is not None:", "if True:"),),
    ),
    Defect(
        "modules that whygrad has loaded stand before the script's own",
        "names/own_modules",
        "cli/shadowed.py",
        (("            self._ours[name] = sys.modules.pop(name)", "            pass"),),
    ),
    Defect(
        "a file is written through a link",
        "descriptors/links_in_the_way",
        "private_file.py",
        (("        os.replace(fresh, file)\n", "        open(file, 'wb').write(data)\n"),),
    ),
    Defect(
        "the script's subclasses and modes hear of whygrad's own work",
        "features/subclass_counts_calls",
        "capture/torch/unheard.py",
        (("        with NoFunctions(), NoOperations():\n", "        if True:\n"),),
    ),
    Defect(
        "functions are compiled anew with whygrad's mode on the stack",
        "features/compiled",
        "capture/torch/compiled.py",
        (("        if _cleanups(frame) is not None and threads.remove(self.capture.mode):\n", "        if False:\n"),),
    ),
    Defect(
        "tracing that begins inside a compiled update puts the mode back at once",
        "features/compiled_updates[whole]",
        "capture/torch/capture.py",
        ((" and not self.compiled.inside():", ":"),),
    ),
    Defect(
        "instructions are compiled in the middle of the run",
        "interpreter/compiling_forbidden",
        "capture/torch/capture.py",
        (("        self.protocol.on_construction = self.compiled.prepare\n", ""),),
    ),
    Defect(
        "attention in evaluation finds whygrad's mode and takes the slower path",
        "features/attention_in_evaluation[padded]",
        "capture/torch/unnoticed.py",
        (("        threads.remove(mode)\n", "        pass\n"),),
    ),
    Defect(
        "a status that does not fit ends in an exception of whygrad's",
        "exits/exit_status",
        "cli/last_words.py",
        (
            (
                "return int(error.code) if abs(error.code) <= sys.maxsize else -1",
                "return int(error.code).__index__() << 64",
            ),
        ),
    ),
    Defect(
        "a forked child's first step changes the hooks that it stands in",
        "processes/fork_and_train[child hooked]",
        "capture/torch/capture.py",
        (
            (
                "        register_optimizer_step_post_hook(stepped)",
                "        hook = register_optimizer_step_post_hook(stepped)",
            ),
            ("            if not known:  #", "            hook.remove()\n            if not known:  #"),
        ),
    ),
)


def put_back(defect: Defect) -> str:
    """The file as it was, and still a program: one that cannot be loaded would not watch, and differ in nothing."""
    text = (HOME / defect.file).read_text(encoding="utf-8")
    for new, old in defect.changes:
        if new not in text:
            raise ValueError(f"{defect.name}: {defect.file} no longer has {new!r}")
        text = text.replace(new, old)
    compile(text, defect.file, "exec")
    return text


def noticed(defect: Defect) -> str:
    """What the comparison says; empty where it sees no difference."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "whygrad"
        shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / defect.file
        file.write_text(put_back(defect), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(COMPARISON), "--jobs", "1", defect.kind],
            env={**os.environ, "PYTHONPATH": scratch},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode not in (0, 1) or " differ\n" not in done.stdout:
        raise RuntimeError(done.stderr)
    return done.stdout if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of what is put back")
    asked = parser.parse_args()
    chosen = [defect for defect in DEFECTS if defect.name.startswith(tuple(asked.names) or "")]
    unnoticed = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for defect, said in zip(chosen, pool.map(noticed, chosen), strict=True):
            unnoticed += not said
            print(f"{'noticed' if said else 'NOT NOTICED'}: {defect.name} ({defect.kind})", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())

"""`whygrad run`: the script behaves as under `python`, and the report is right however the script ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli_running import (
    BROKEN,
    CUT,
    CUT_LINE,
    HEALTHY,
    LONGEST,
    WARNED,
    Ended,
    codes,
    crashed,
    environment,
    python,
    stored,
    whygrad,
    write,
)

NO_TORCH = "whygrad: incomplete: the script imported neither torch nor tensorflow; there was nothing to watch"


def same_as_python(folder: Path, *arguments: str, stdin: str = "") -> Ended:
    """Run both ways: stdout and status must agree, and whygrad's stderr must begin with python's."""
    plain = python(folder, *arguments, stdin=stdin)
    watched = whygrad(folder, "run", *arguments, stdin=stdin)
    assert watched.out == plain.out
    assert watched.status == plain.status
    assert watched.err.startswith(plain.err)
    return Ended(watched.status, watched.out, watched.err[len(plain.err) :])


# -- one broken run, looked at from all sides


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="module")
def broken(folder: Path) -> Ended:
    ending = 'import sys\nprint("arguments:", sys.argv[1:])\nprint("to stderr", file=sys.stderr)\n'
    write(folder, "train.py", BROKEN + ending)
    return whygrad(folder, "run", "--json", "out.json", "train.py", "--json", "x", "-q", "--fail-on", "never", "-m")


def test_an_error_makes_the_status_one(broken: Ended) -> None:
    assert broken.status == 1


def test_stdout_belongs_to_the_script_and_so_do_its_options(broken: Ended) -> None:
    assert broken.out == "arguments: ['--json', 'x', '-q', '--fail-on', 'never', '-m']\n"


def test_options_of_the_script_are_not_whygrads(broken: Ended, folder: Path) -> None:
    assert broken.status == 1
    assert not (folder / "x").exists()
    assert stored(folder)["script"] == "train.py --json x -q --fail-on never -m"


def test_the_report_follows_the_scripts_own_stderr(broken: Ended) -> None:
    assert broken.err.startswith("to stderr\nerror[WG101] rewrapped-tensor: policy is not learning")
    assert broken.err.rstrip().splitlines()[-1].startswith(f"whygrad: 1 error. WG101 at train.py:{CUT_LINE}: ")


def test_the_report_shows_the_line_and_underlines_the_cause(broken: Ended) -> None:
    rows = broken.err.splitlines()
    shown = f" {CUT_LINE} |     collected = {CUT}"
    assert shown in rows
    under = rows[rows.index(shown) + 1]
    assert under.startswith("   | " + " " * 16 + "^" * len(CUT) + " ")


def test_a_pipe_gets_no_colour(broken: Ended) -> None:
    assert "\x1b" not in broken.err


def test_the_json_file_and_the_last_run_are_the_same(broken: Ended, folder: Path) -> None:
    assert broken.status == 1
    assert (folder / "out.json").read_bytes() == (folder / ".whygrad" / "last.json").read_bytes()


def test_the_stored_report_is_complete(broken: Ended, folder: Path) -> None:
    assert broken.status == 1
    report = stored(folder, "out.json")
    assert (report["version"], report["script_exit_code"]) == (1, 0)
    assert (report["updates"], report["backward_calls"]) == (3, 3)
    assert report["framework"].startswith("torch ")
    assert codes(report) == ["WG101"]
    [finding] = report["findings"]
    assert finding["severity"] == "error"
    assert finding["suppressed"] is False
    span = finding["span"]
    assert Path(span["file"]).name == "train.py"
    assert (span["line"], span["col"], span["end_col"]) == (CUT_LINE, 16, 16 + len(CUT))
    assert report["source"][span["file"]][str(CUT_LINE)].strip() == f"collected = {CUT}"
    assert sorted(finding["parameters"]) == ["policy.bias", "policy.weight"]


def test_the_folder_of_the_last_run_stays_out_of_git(broken: Ended, folder: Path) -> None:
    assert broken.status == 1
    assert (folder / ".whygrad" / ".gitignore").read_text() == "*\n"


# -- exit status, quietness and formats


def test_quiet_says_nothing_when_all_is_well(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY + 'print("done")\n')
    done = whygrad(tmp_path, "run", "-q", "train.py")
    assert done == Ended(0, "done\n", "")
    report = stored(tmp_path)
    assert (report["findings"], report["updates"], report["script_exit_code"]) == ([], 3, 0)


def test_a_warning_alone_does_not_fail(tmp_path: Path) -> None:
    write(tmp_path, "train.py", WARNED)
    done = whygrad(tmp_path, "run", "--color", "always", "-q", "train.py", env={"NO_COLOR": "1"})
    assert done.status == 0
    assert codes(stored(tmp_path)) == ["WG107"]
    assert "\x1b[" in done.err, "--color always wins over NO_COLOR"
    assert "warning[WG107]" in done.err


def test_a_warning_fails_when_asked_to(tmp_path: Path) -> None:
    write(tmp_path, "train.py", WARNED)
    done = whygrad(tmp_path, "run", "--fail-on=warning", "--format", "concise", "train.py", env={"FORCE_COLOR": "1"})
    assert done.status == 1
    [row] = done.err.splitlines()
    assert "train.py:12:5: warning[WG107] " in row


def test_the_project_may_decide_never_to_fail(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.whygrad]\nfail-on = "never"\nupdates = 2\n')
    write(tmp_path, "deep/er/train.py", BROKEN)
    done = whygrad(tmp_path, "run", "deep/er/train.py", env={"FORCE_COLOR": "1"})
    assert done.status == 0
    assert "\x1b[" in done.err, "FORCE_COLOR colours a pipe"
    assert codes(stored(tmp_path)) == ["WG101"]


def test_the_command_line_wins_over_the_project(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.whygrad]\nfail-on = "never"\ntrace = "off"\n')
    write(tmp_path, "train.py", BROKEN)
    arguments = ["--fail-on", "error", "--trace", "always", "--updates", "1", "--color", "never"]
    done = whygrad(tmp_path, "run", *arguments, "train.py", env={"FORCE_COLOR": "1"})
    assert done.status == 1
    assert "error[WG101]" in done.err
    assert "\x1b" not in done.err, "--color never wins over FORCE_COLOR"


def test_a_code_that_the_project_ignores_is_silent_and_makes_nothing_healthy(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.whygrad]\nignore = ["WG101"]\n')
    write(tmp_path, "train.py", BROKEN)
    done = whygrad(tmp_path, "run", "-q", "train.py")
    assert (done.status, done.out) == (0, "")
    assert "WG101] " not in done.err
    assert "nothing was trained" in done.err
    assert "suppressed (WG101)" in done.err
    report = stored(tmp_path)
    assert report["updates"] == 3
    assert [f["code"] for f in report["findings"] if not f["suppressed"]] == []


def test_without_tracing_the_steps_are_still_watched(tmp_path: Path) -> None:
    write(tmp_path, "train.py", HEALTHY)
    done = whygrad(tmp_path, "run", "--trace", "off", "train.py")
    assert done.status == 0
    assert not crashed(done.err)
    assert "WG101" not in done.err
    assert stored(tmp_path)["updates"] == 3


def test_the_scripts_own_status_wins_and_the_report_is_json(tmp_path: Path) -> None:
    ending = 'import atexit, sys\natexit.register(print, "at exit")\nprint("before")\nsys.exit(3)\n'
    write(tmp_path, "train.py", BROKEN + ending)
    done = whygrad(tmp_path, "run", "--format", "json", "train.py")
    assert done.status == 3
    assert done.out == "before\nat exit\n"
    shown = json.loads(done.err)
    assert shown == stored(tmp_path)
    assert shown["script_exit_code"] == 3
    assert codes(shown) == ["WG101"]


def test_an_explained_exception_keeps_pytorchs_text_and_gains_a_note(tmp_path: Path) -> None:
    write(tmp_path, "train.py", BROKEN.replace(CUT, "torch.stack(log_probs).detach()"))
    done = whygrad(tmp_path, "run", "train.py")
    assert done.status == 1
    assert "RuntimeError: element 0 of tensors does not require grad" in done.err
    assert "\nwhygrad[WG" in done.err
    traceback = done.err[: done.err.index("\nwhygrad[")]
    assert os.sep + "whygrad" + os.sep not in traceback, "whygrad's frames are left out"
    assert 'train.py", line 11, in <module>\n    loss.backward()\n' in traceback


def test_full_traceback_keeps_whygrads_frames(tmp_path: Path) -> None:
    write(tmp_path, "boom.py", 'raise ValueError("mine")\n')
    done = whygrad(tmp_path, "run", "--full-traceback", "boom.py")
    assert done.status == 1
    assert os.path.join("whygrad", "cli", "script.py") in done.err
    assert "\nValueError: mine\n" in done.err


def test_the_cause_of_an_exception_shows_no_frames_of_whygrad_either(tmp_path: Path) -> None:
    ending = """\
try:
    loss.backward()
except RuntimeError as error:
    raise ValueError("in my words") from error
"""
    write(tmp_path, "train.py", HEALTHY + ending)
    done = whygrad(tmp_path, "run", "train.py")
    assert done.status == 1
    assert "Trying to backward through the graph a second time" in done.err
    assert "direct cause of the following exception" in done.err
    frames = [row for row in done.err.splitlines() if row.startswith('  File "')]
    assert frames
    assert not [row for row in frames if os.sep + "whygrad" + os.sep in row]


def test_interrupting_gives_the_report_of_what_was_seen(tmp_path: Path) -> None:
    endless = 'import time\nprint("ready", flush=True)\nwhile True:\n    time.sleep(0.05)\n'
    write(tmp_path, "train.py", BROKEN + endless)
    command = [sys.executable, "-m", "whygrad", "run", "train.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
    assert process.returncode in (130, -signal.SIGINT)
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert not crashed(err)
    assert "error[WG101]" in err
    assert codes(stored(tmp_path)) == ["WG101"]


def test_a_reader_that_went_away_does_not_change_the_status(tmp_path: Path) -> None:
    write(tmp_path, "train.py", BROKEN)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "whygrad", "run", "train.py"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=writer,
            timeout=LONGEST,
            check=False,
        )
    finally:
        os.close(writer)
    assert codes(stored(tmp_path)) == ["WG101"]
    assert done.returncode == 1


# -- the same as python


def test_the_main_module_is_the_one_python_makes(tmp_path: Path) -> None:
    names = ["__name__", "__file__", "__package__", "__spec__", "__doc__", "__annotations__", "__cached__"]
    text = f"""\
        '''What it is for.'''
        import sys
        for name in {names}:
            print(name, repr(globals().get(name, "missing")))
        print(type(__loader__).__name__, __loader__.name, sys.modules["__main__"].__dict__ is globals())
        print(sys.argv, sys.path[0], sys.path)
        """
    write(tmp_path, "code/show.py", text)
    (tmp_path / "elsewhere").mkdir()
    rest = same_as_python(tmp_path / "elsewhere", os.path.join("..", "code", "show.py"), "a b", "--color", "no")
    assert rest.err.strip() == NO_TORCH


def test_builtins_is_the_module_as_in_any_script(tmp_path: Path) -> None:
    write(tmp_path, "show.py", 'print(type(__builtins__).__name__, hasattr(__builtins__, "len"))\n')
    same_as_python(tmp_path, "show.py")


def test_a_script_finds_its_own_file_after_changing_directory(tmp_path: Path) -> None:
    text = "import os, pathlib\nos.chdir('..')\nprint(pathlib.Path(__file__).resolve().is_file())\n"
    write(tmp_path, "code/move.py", text)
    assert same_as_python(tmp_path / "code", "move.py").out == "True\n"


def test_a_module_runs_as_with_python_m(tmp_path: Path) -> None:
    write(tmp_path, "pack/__init__.py", "")
    write(tmp_path, "pack/near.py", "WORD = 'near'\n")
    text = """\
        import atexit, pickle, sys
        from .near import WORD
        class Thing: pass
        def last():
            print("last", type(pickle.loads(pickle.dumps(Thing()))).__module__)
        atexit.register(last)
        print(WORD, __name__, __package__, __spec__.name, __file__, sys.argv, sys.path[0])
        """
    write(tmp_path, "pack/__main__.py", text)
    rest = same_as_python(tmp_path, "-m", "pack", "-c", "--updates")
    assert "near __main__ pack pack.__main__" in rest.out
    assert rest.err.strip() == NO_TORCH


def test_a_missing_module_is_named(tmp_path: Path) -> None:
    for name in ("no_such_module_here", "no_such_module_here.part"):
        done = whygrad(tmp_path, "run", "-m", name)
        assert done.status in (1, 2)
        assert "no_such_module_here" in done.err
        assert "Traceback" not in done.err


def test_code_runs_as_with_python_c(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv, repr(sys.path[0]), __name__, '__file__' in globals()); sys.exit(4)"
    assert same_as_python(tmp_path, "-c", code, "-m", "x").status == 4


def test_a_folder_with_a_main_runs(tmp_path: Path) -> None:
    write(tmp_path, "app/__main__.py", "import sys, beside\nprint(__name__, sys.argv, beside.WORD)\n")
    write(tmp_path, "app/beside.py", "WORD = 'beside'\n")
    assert same_as_python(tmp_path, "app", "x").out == "__main__ ['app', 'x'] beside\n"


def test_pickling_dataclasses_and_child_processes_work(tmp_path: Path) -> None:
    text = """\
        from __future__ import annotations
        import dataclasses, multiprocessing, pickle, sys, typing

        @dataclasses.dataclass
        class Transition:
            reward: float
            following: Transition | None = None
            count: typing.ClassVar[int] = 0

        def double(item: Transition) -> Transition:
            return Transition(item.reward * 2, item)

        if __name__ == "__main__":
            print(pickle.loads(pickle.dumps(Transition(1.0, Transition(2.0)))))
            print([f.name for f in dataclasses.fields(Transition)])
            for way in ("fork", "spawn"):
                with multiprocessing.get_context(way).Pool(1) as pool:
                    print(way, pool.map(double, [Transition(3.0)]))
            print(typing.get_type_hints(Transition)["following"])
        """
    write(tmp_path, "work.py", text)
    rest = same_as_python(tmp_path, "work.py")
    assert rest.out.count("Transition(reward=6.0") == 2
    assert rest.err.strip() == NO_TORCH


def test_stdin_reaches_the_script(tmp_path: Path) -> None:
    write(tmp_path, "ask.py", "import sys\nprint(input('name? '), sys.stdin.read())\n")
    assert same_as_python(tmp_path, "ask.py", stdin="Ada\nand the rest\n").out == "name? Ada and the rest\n\n"


@pytest.mark.parametrize(
    ("ending", "status"),
    [("3", 3), ("'some text'", 1), ("", 0), ("None", 0), ("-1", 255), ("(1, 'two')", 1), ("256", 0)],
)
def test_exit_statuses_are_pythons(tmp_path: Path, ending: str, status: int) -> None:
    write(tmp_path, "end.py", f"import sys\nprint('out')\nsys.exit({ending})\n")
    assert same_as_python(tmp_path, "end.py").status == status


def test_an_uncaught_exception_looks_as_under_python(tmp_path: Path) -> None:
    text = """\
        import atexit
        atexit.register(print, "at exit")
        def inner(n):
            return 1 / n
        try:
            inner(0)
        except ZeroDivisionError as error:
            raise KeyError("outer") from error
        """
    write(tmp_path, "boom.py", text)
    plain = python(tmp_path, "boom.py")
    done = whygrad(tmp_path, "run", str(tmp_path / "boom.py"))
    assert done.status == plain.status == 1
    assert done.out == plain.out == "at exit\n"
    assert done.err.startswith(plain.err)
    assert done.err[len(plain.err) :].startswith("whygrad: incomplete: the script ended with KeyError: 'outer'")


def test_a_traceback_names_the_file_as_python_does(tmp_path: Path) -> None:
    write(tmp_path, "boom.py", "raise OSError('gone')\n")
    assert same_as_python(tmp_path, "boom.py").status == 1


def test_the_scripts_own_hook_is_used_even_when_it_fails(tmp_path: Path) -> None:
    text = """\
        import sys
        def hook(kind, error, traceback):
            print("hooked", kind.__name__)
            raise RuntimeError("the hook is wrong")
        sys.excepthook = hook
        raise ValueError("the first")
        """
    write(tmp_path, "boom.py", text)
    done = whygrad(tmp_path, "run", "boom.py")
    assert done.status == 1
    assert done.out == "hooked ValueError\n"
    assert "ValueError: the first" in done.err
    assert not crashed(done.err)
    assert stored(tmp_path)["script_exit_code"] == 1


def test_warnings_look_as_under_python(tmp_path: Path) -> None:
    text = """\
        import warnings
        warnings.warn("soon gone", DeprecationWarning)
        def old():
            warnings.warn("also soon", DeprecationWarning, stacklevel=2)
        old()
        """
    write(tmp_path, "warn.py", text)
    plain = python(tmp_path, str(tmp_path / "warn.py"))
    done = whygrad(tmp_path, "run", str(tmp_path / "warn.py"))
    assert "soon gone" in plain.err
    assert "also soon" in plain.err
    assert done.err == plain.err + NO_TORCH + "\n"


def test_torch_is_not_imported_before_the_script_does_it(tmp_path: Path) -> None:
    text = """\
        import os, sys
        print([name for name in ("torch", "numpy") if name in sys.modules])
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch
        print(torch.get_num_threads(), type(torch.__loader__).__module__, type(torch.__spec__.loader).__module__)
        """
    write(tmp_path, "threads.py", text)
    done = whygrad(tmp_path, "run", "threads.py", env={"OMP_NUM_THREADS": "2"})
    assert done.out == "[]\n1 _frozen_importlib_external _frozen_importlib_external\n"
    assert done.status == 0
    nothing = "no backward() and no optimizer step was seen; there is no training to explain yet"
    assert done.err == f"whygrad: incomplete: {nothing}\n"


def test_asking_whether_torch_exists_does_not_blind_whygrad(tmp_path: Path) -> None:
    question = "import importlib.util\nassert importlib.util.find_spec('torch') is not None\n"
    write(tmp_path, "train.py", question + BROKEN)
    done = whygrad(tmp_path, "run", "train.py")
    assert "imported neither torch nor tensorflow" not in done.err
    assert codes(stored(tmp_path)) == ["WG101"]
    assert done.status == 1


# -- child processes


def test_children_are_instrumented_until_they_train_at_most(tmp_path: Path) -> None:
    text = (
        """\
import multiprocessing

def patched():
    import torch
    seen = (torch.autograd.backward, torch.tensor, torch.optim.Optimizer.__init__, torch.Tensor.detach)
    return [f.__name__ for f in seen if "__whygrad__" in str(getattr(getattr(f, "__code__", None), "co_names", ""))]

def main():
    import torch
    print("parent", "backward" in patched())
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(way, pool.apply(patched))

if __name__ == "__main__":
    main()
    """
        + HEALTHY.replace("\n", "\n    ").rstrip()
        + "\n"
    )
    write(tmp_path, "train.py", text)
    done = whygrad(tmp_path, "run", "train.py")
    assert done.out == "parent True\nfork ['backward']\nspawn []\n"
    assert done.status == 0
    assert done.err.count("whygrad: ") == 1
    assert done.err.startswith("whygrad: healthy. 3 updates watched")


def test_a_forked_child_is_as_it_was_once_it_has_trained(tmp_path: Path) -> None:
    text = """\
        import os, torch

        def led_past():
            return [f for f in ("backward", "grad") if "__whygrad__" in getattr(torch.autograd, f).__code__.co_names]

        if os.fork() == 0:
            torch.ones(2, requires_grad=True).sum().backward()
            print(led_past(), flush=True)
            os._exit(0)
        os.wait()
        """
    write(tmp_path, "train.py", text)
    done = whygrad(tmp_path, "run", "train.py")
    assert done.out == "[]\n"
    assert "training happens in a child process" in done.err


def test_a_child_forked_before_torch_is_imported_is_left_alone(tmp_path: Path) -> None:
    text = """\
        import multiprocessing

        def patched():
            import torch
            return "__whygrad__" in str(torch.autograd.backward.__code__.co_names)

        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.apply(patched))
        """
    write(tmp_path, "train.py", text)
    done = whygrad(tmp_path, "run", "train.py")
    assert done.out == "False\n"
    assert "the processes that it started are not watched" in done.err


@pytest.mark.parametrize("ending", ["sys.exit(7)", "raise ValueError('child')", "pass"])
def test_a_child_made_with_fork_says_nothing_of_whygrad(tmp_path: Path, ending: str) -> None:
    text = f"""\
        import os, sys
        child = os.fork()
        if child:
            print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            {ending}
        """
    write(tmp_path, "split.py", text)
    plain = python(tmp_path, str(tmp_path / "split.py"))
    done = whygrad(tmp_path, "run", str(tmp_path / "split.py"))
    assert done.out == plain.out
    assert done.status == 0
    assert done.err == plain.err + NO_TORCH + "\n", "one report, from the parent"


# -- directories and streams that change under way


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    """Started above the script's folder; the script then goes elsewhere and stays there."""
    base = tmp_path_factory.mktemp("moved with späces")
    write(base, "code/train.py", "import os; os.chdir('away/from/here')\n" + BROKEN)
    (base / "away/from/here").mkdir(parents=True)
    return base, whygrad(base, "run", "--json", "out.json", os.path.join("code", "train.py"))


def test_a_script_that_moves_keeps_its_report_where_it_began(moved: tuple[Path, Ended]) -> None:
    base, done = moved
    assert done.status == 1
    assert list((base / "away/from/here").iterdir()) == []
    assert codes(stored(base, "out.json")) == ["WG101"]
    assert codes(stored(base)) == ["WG101"]


def test_a_script_that_moves_still_has_its_lines_shown(moved: tuple[Path, Ended]) -> None:
    _, done = moved
    assert "error[WG101]" in done.err
    assert f" {CUT_LINE + 1} |     collected = {CUT}" in done.err.splitlines()


def test_a_directory_that_vanished_costs_nothing(tmp_path: Path) -> None:
    text = "import os, tempfile\nwith tempfile.TemporaryDirectory() as gone:\n    os.chdir(gone)\n"
    write(tmp_path, "train.py", BROKEN + text + "raise OSError('full')\n")
    done = whygrad(tmp_path, "run", "train.py")
    assert done.status == 1
    assert not crashed(done.err)
    assert "OSError: full" in done.err
    assert "error[WG101]" in done.err


@pytest.mark.parametrize(
    "what",
    [
        "sys.stderr.close()",
        "sys.stderr = None",
        "sys.stdout.close()",
        "sys.stdout = None",
        "sys.stdout = sys.stderr = open('log.txt', 'w')",
        "sys.stdout = io.StringIO(); sys.stderr = io.StringIO()",
        "sys.stdout = type('Tee', (), {'write': lambda self, text: None})()",
    ],
)
def test_closed_and_redirected_streams_lose_nothing(tmp_path: Path, what: str) -> None:
    write(tmp_path, "close.py", f"import io, sys\n{what}\n")
    done = whygrad(tmp_path, "run", "close.py")
    report = stored(tmp_path)
    assert (report["script"], report["script_exit_code"]) == ("close.py", 0)
    assert not crashed(done.err)
    assert done.out == ""
    if "Tee" in what:
        assert done.err.startswith(NO_TORCH), "python itself then complains about the missing flush()"
        return
    assert done.status == 0
    if what != "sys.stderr.close()":
        assert done.err == NO_TORCH + "\n"


def test_an_error_text_for_a_closed_stderr_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, "close.py", "import sys\nsys.stderr.close()\nsys.exit('unheard')\n")
    done = whygrad(tmp_path, "run", "close.py")
    assert done.status == 1
    assert stored(tmp_path)["script_exit_code"] == 1


# -- threads


def in_thread(training: str, ending: str) -> str:
    body = training.replace("import torch\n", "", 1).replace("\n", "\n    ").rstrip()
    return f"import sys, threading, time\nimport torch\ndef train():\n    time.sleep(0.2){body}\n{ending}\n"


def test_training_in_a_thread_is_explained_correctly_or_not_at_all(tmp_path: Path) -> None:
    write(tmp_path, "train.py", in_thread(BROKEN, "threading.Thread(target=train).start()"))
    done = whygrad(tmp_path, "run", "train.py")
    report = stored(tmp_path)
    assert report["updates"] == 3, "whygrad waits for the thread"
    assert "WG107" not in codes(report), "the loss does depend on the policy in value; a copy cut it"
    assert codes(report) == ["WG101"] or any("thread" in limit for limit in report["limits"])
    assert "healthy" not in done.err


def test_a_thread_is_waited_for_when_the_script_exits(tmp_path: Path) -> None:
    ending = "threading.Thread(target=train).start()\nsys.exit(5)"
    write(tmp_path, "train.py", in_thread(HEALTHY + "print('thread done')\n", ending))
    done = whygrad(tmp_path, "run", "train.py")
    assert done.status == 5
    assert done.out == "thread done\n"
    assert stored(tmp_path)["updates"] == 3
    assert "no training to explain" not in done.err


# -- sources of all kinds


def test_unicode_windows_line_ends_and_long_lines(tmp_path: Path) -> None:
    name = "späte_schätzung"
    text = BROKEN.replace("collected", name).replace(f"{CUT}", f"{CUT}  # " + "ü" * 5000)
    text = text.replace(f"    {name} = ", f"    größe = 'é'; {name} = ") + "table = [" + "1, " * 20000 + "]\n"
    (tmp_path / "träin.py").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    done = whygrad(tmp_path, "run", "--format", "text", "träin.py", env={"PYTHONIOENCODING": "ascii"})
    assert done.status == 1
    assert not crashed(done.err)
    [finding] = stored(tmp_path)["findings"]
    assert finding["code"] == "WG101"
    span = finding["span"]
    line = text.splitlines()[CUT_LINE - 1]
    assert stored(tmp_path)["source"][span["file"]][str(CUT_LINE)] == line
    assert line[span["col"] : span["end_col"]] == CUT


def test_code_on_the_command_line_is_shown_like_a_file(tmp_path: Path) -> None:
    done = whygrad(tmp_path, "run", "-c", BROKEN)
    assert done.status == 1
    assert f" {CUT_LINE} |     collected = {CUT}" in done.err.splitlines()


def test_a_package_that_trains_with_workers_and_strict_warnings(tmp_path: Path) -> None:
    """Loader workers are forks; warnings raised as errors must not come from whygrad."""
    start = """\
import warnings
warnings.simplefilter("error")
import torch
from .data import numbers
for batch in torch.utils.data.DataLoader(numbers(), batch_size=4, num_workers=1):
    print(batch.tolist())
"""
    write(tmp_path, "agents/__init__.py", "")
    write(tmp_path, "agents/data.py", "def numbers():\n    return list(range(8))\n")
    write(tmp_path, "agents/train.py", start + HEALTHY)
    done = whygrad(tmp_path, "run", "-m", "agents.train")
    assert done.out == "[0, 1, 2, 3]\n[4, 5, 6, 7]\n"
    assert done.status == 0
    assert done.err.startswith("whygrad: healthy. 3 updates watched, 2 of 2 parameters trained.")
    assert stored(tmp_path)["script"] == "-m agents.train"


# -- scripts that give nothing to watch


def test_a_script_without_torch_gets_a_plain_answer(tmp_path: Path) -> None:
    write(tmp_path, "hello.py", "print('hello')\n")
    done = whygrad(tmp_path, "run", "hello.py")
    assert done == Ended(0, "hello\n", NO_TORCH + "\n")
    report = stored(tmp_path)
    assert report["findings"] == []
    assert report["verdict"] == "incomplete"
    assert [gap["what"] for gap in report["missing"]] == ["the script imported neither torch nor tensorflow"]


def test_a_syntax_error_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    write(tmp_path, "wrong.py", "print('never')\nif True print(1)\n")
    plain = python(tmp_path, str(tmp_path / "wrong.py"))
    done = whygrad(tmp_path, "run", str(tmp_path / "wrong.py"))
    assert (done.status, done.out) == (1, "")
    assert done.err == plain.err + "whygrad: incomplete: the script has a syntax error and did not run; mend it\n"


def test_a_syntax_error_in_an_imported_file_is_not_the_scripts(tmp_path: Path) -> None:
    write(tmp_path, "helper.py", "def f(:\n")
    write(tmp_path, "train.py", "print('started')\nimport helper\n")
    done = whygrad(tmp_path, "run", "train.py")
    assert (done.status, done.out) == (1, "started\n")
    assert "SyntaxError" in done.err
    assert "did not run" not in done.err

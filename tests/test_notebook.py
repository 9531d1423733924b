"""Notebooks: a watched cell shows its report, lines count as in the cell, and plain IPython does the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_running import python

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")

PRELUDE = """\
%load_ext whygrad
import torch
policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters())
"""
CUT = """\
%%whygrad --updates 3
for _ in range(3):
    loss = policy(torch.randn(8, 4)).mean()
    loss = torch.tensor(loss.item(), requires_grad=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
loss.item() * 0 + 42
"""
FINE = CUT.replace("    loss = torch.tensor(loss.item(), requires_grad=True)\n", "")
ACROSS = "%whygrad start\nhidden = policy(torch.randn(8, 4)).detach()"
ASKED = "loss = hidden.mean()\n%whygrad explain loss policy"
RAISING = "%%whygrad\nx = policy(torch.randn(8, 4)).mean()\nx.backward()\nx.backward()"
CELLS = [
    PRELUDE,
    CUT,
    FINE,
    ACROSS,
    ASKED,
    "%whygrad stop",
    RAISING,
    "%whygrad explain nothing",
    "%%whygrad --trace x\n1",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[list[dict[str, Any]]]]:
    """What each cell put out, in a real kernel."""
    patch = pytest.MonkeyPatch()
    patch.setenv("OMP_NUM_THREADS", "1")
    folder = tmp_path_factory.mktemp("notebook")
    kernels = folder / "kernels/python3"
    kernels.mkdir(parents=True)
    argv = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    kernels.joinpath("kernel.json").write_text(f'{{"argv": {argv}, "display_name": "x", "language": "python"}}')
    patch.setenv("JUPYTER_PATH", str(folder))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute(cwd=str(folder))
    yield [cell.outputs for cell in notebook.cells]
    patch.undo()


def shown(output: list[dict[str, Any]]) -> str:
    """The report as the notebook holds it."""
    (found,) = [o["data"]["text/html"] for o in output if "text/html" in o.get("data", {})]
    return str(found)


def test_a_watched_cell_holds_the_rendered_report(outputs: list[list[dict[str, Any]]]) -> None:
    markup = shown(outputs[1])
    assert "1 error" in markup
    assert "policy is not learning" in markup
    assert '<table class="matrix">' in markup
    assert "<script" not in markup
    plain = [o["data"]["text/plain"] for o in outputs[1] if "data" in o]
    assert any("error[WG102]" in text for text in plain)


def test_lines_count_as_in_the_cell(outputs: list[list[dict[str, Any]]]) -> None:
    markup = shown(outputs[1])
    line = 1 + CUT.splitlines().index("    loss = torch.tensor(loss.item(), requires_grad=True)")
    assert f"In[2]:{line}:" in markup
    assert "ipykernel" not in markup
    assert f'<td class="number">{line}</td>' in markup
    assert "loss.item()" in markup


def test_the_last_value_is_shown_as_ever(outputs: list[list[dict[str, Any]]]) -> None:
    assert "42.0" in [o["data"].get("text/plain") for o in outputs[1] if "data" in o]


def test_a_healthy_cell_says_so(outputs: list[list[dict[str, Any]]]) -> None:
    assert "healthy" in shown(outputs[2])
    assert "3 updates watched, 2 of 2 parameters trained." in shown(outputs[2])


def test_a_loss_is_asked_about_over_cells(outputs: list[list[dict[str, Any]]]) -> None:
    (answer,) = [o["data"]["text/plain"] for o in outputs[4] if "data" in o]
    assert "the loss has no graph: gradient reaches 0 of 2 parameters" in answer
    assert "policy.weight: cut at In[4]:2 by policy(torch.randn(8, 4)).detach() (detach)" in answer
    assert "backward call" in shown(outputs[5]) or "no backward()" in shown(outputs[5])


def test_an_error_stays_an_error_and_is_explained(outputs: list[list[dict[str, Any]]]) -> None:
    assert "WG603" in shown(outputs[6])
    (error,) = [o for o in outputs[6] if o["output_type"] == "error"]
    assert error["ename"] == "RuntimeError"


@pytest.mark.parametrize(("cell", "says"), [(7, "there is no 'nothing' here"), (8, "invalid choice: 'x'")])
def test_bad_input_is_one_sentence(cell: int, says: str, outputs: list[list[dict[str, Any]]]) -> None:
    said = "".join(o.get("text", "") for o in outputs[cell])
    assert says in said
    assert "Traceback" not in said


def test_plain_ipython_shows_the_text(tmp_path: Path) -> None:
    script = tmp_path / "cells.py"
    cells = f"cells = {[PRELUDE, CUT]!r}"
    script.write_text(
        f"from IPython.core.interactiveshell import InteractiveShell\n{cells}\n"
        "shell = InteractiveShell.instance()\nfor cell in cells:\n    shell.run_cell(cell, store_history=True)\n"
    )
    ended = python(tmp_path, str(script), env={"OMP_NUM_THREADS": "1", "IPYTHONDIR": str(tmp_path)})
    assert "error[WG102]" in ended.out
    assert "--> In[2]:4:" in ended.out
    assert "whygrad: 1 error." in ended.out

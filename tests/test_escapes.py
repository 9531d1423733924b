"""What is read off an exception that ends a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from whygrad.capture import escapes
from whygrad.trace.escape import Escape

START = """
import torch

class Parameter:
    grad = None
    value = torch.ones(1)

p, lr, scale = Parameter(), 0.1, None
"""


def escape(folder: Path, line: str) -> Escape:
    file = folder / "train.py"
    file.write_text(START + line + "\n", encoding="utf-8")
    with pytest.raises((TypeError, AttributeError, ValueError)) as raised:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {})
    return escapes.described(raised.value)


@pytest.mark.parametrize(
    "line",
    [
        "-p.grad",
        "p.grad.norm()",
        "lr * p.grad",
        "p.grad * lr",
        "p.grad[0]",
        "p.value.add_(p.grad)",
        "p.value -= lr * p.grad",
    ],
)
def test_a_gradient_that_was_none_is_named(tmp_path: Path, line: str) -> None:
    found = escape(tmp_path, line)
    assert found.absent_gradient == "p.grad"
    assert found.site is not None
    assert found.site.line == len(START.splitlines()) + 1


@pytest.mark.parametrize("line", ["scale * p.value", "-scale", "(p.grad or 2.0) * scale", "raise ValueError('p.grad')"])
def test_whatever_else_was_none_is_not_blamed_on_a_gradient(tmp_path: Path, line: str) -> None:
    assert escape(tmp_path, line).absent_gradient == ""


def test_the_title_is_the_first_line_and_not_too_long(tmp_path: Path) -> None:
    assert escape(tmp_path, "raise ValueError('first\\nsecond')").title == "ValueError: first"
    assert len(escape(tmp_path, "raise ValueError('x' * 5000)").title) < 300
    assert escape(tmp_path, "raise ValueError").title == "ValueError"

"""What is wrong in or around a compiled function is found as far as it can be seen from outside."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.session import active

Loss = Callable[[Tensor], Tensor]
BACKENDS = ("eager", "aot_eager")
WHOLE = """\
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

@torch.compile(backend="eager")
def update(x):
    loss = net(x).detach().pow(2).mean().requires_grad_()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

for _ in range(12):
    update(torch.randn(8, 4))
"""


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()


def found(loss_of: Loss, *parts: nn.Module) -> list[str]:
    """Codes of the findings of a short training."""
    optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], lr=0.1)
    with whygrad.watch() as watching:
        for _ in range(8):
            loss = loss_of(torch.randn(4, 3))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert all("internal error" not in gap.what for gap in watching.report.gaps)
    return [finding.code for finding in watching.report.loud]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_detach_between_compiled_modules(backend: str) -> None:
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    fast_body, fast_head = (torch.compile(part, backend=backend) for part in (body, head))
    assert found(lambda x: torch.as_tensor(fast_head(fast_body(x).detach())).pow(2).mean(), body, head) == ["WG103"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_detach_inside_a_compiled_function_leaves_its_network_without_gradient(backend: str) -> None:
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)

    @torch.compile(backend=backend)
    def loss(x: Tensor) -> Tensor:
        return torch.as_tensor(head(body(x).detach())).pow(2).mean()

    assert found(loss, body, head) == ["WG107"]


def test_what_is_unseen_is_no_proof(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(WHOLE, encoding="utf-8")
    with whygrad.watch() as watching:
        exec(compile(WHOLE, str(file), "exec"), {"__name__": "__main__"})
    [finding] = watching.report.loud
    assert (finding.code, finding.severity) == ("WG107", "warning")
    assert finding.why == "no gradient comes to it; what happens inside compiled functions was not seen."
    assert "TORCH_COMPILE_DISABLE=1" in finding.fix
    assert finding.site is not None
    assert (finding.site.line, finding.site.function) == (10, "update")


def test_an_update_that_is_compiled_whole_is_healthy(tmp_path: Path) -> None:
    source = WHOLE.replace(".detach()", "")
    file = tmp_path / "train.py"
    file.write_text(source, encoding="utf-8")
    with whygrad.watch() as watching:
        exec(compile(source, str(file), "exec"), {"__name__": "__main__"})
    assert (watching.report.verdict, watching.report.updates) == ("healthy", 12)


@pytest.mark.parametrize(("cut", "codes"), [(False, []), (True, ["WG107"])])
def test_tracing_that_begins_inside_a_compiled_update_compiles_nothing_anew(cut: bool, codes: list[str]) -> None:
    from torch._dynamo.testing import CompileCounter

    net, counter = nn.Linear(4, 1), CompileCounter()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    @torch.compile(backend=counter)
    def update(x: Tensor) -> None:
        out: Tensor = net(x)
        loss = (out.detach().requires_grad_() if cut else out).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    with whygrad.watch() as watching:
        update(torch.randn(8, 4))
        graphs = counter.frame_count
        for _ in range(44):  # Some are traced again from the 20th step on, and that begins at the step.
            update(torch.randn(8, 4))
            assert len(torch.overrides._get_current_function_mode_stack()) <= 1
    assert counter.frame_count == graphs
    assert [finding.code for finding in watching.report.loud] == codes
    assert watching.report.updates == 45
    assert torch.overrides._get_current_function_mode_stack() == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_is_compiled_once(backend: str) -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    net, counter = nn.Linear(3, 1), CompileCounterWithBackend(backend)
    fast = torch.compile(net, backend=counter)
    assert found(lambda x: torch.as_tensor(fast(x)).pow(2).mean(), net) == []
    fast(torch.randn(4, 3)).pow(2).mean().backward()
    assert counter.frame_count == 1


def test_a_compiled_function_that_raises_leaves_the_mode_in_place() -> None:
    @torch.compile(backend="eager")
    def fails(x: Tensor) -> Tensor:
        return x @ torch.ones(5, 5)

    with whygrad.watch():
        before = len(torch.overrides._get_current_function_mode_stack())
        with pytest.raises(RuntimeError):
            fails(torch.ones(2, 3))
        assert len(torch.overrides._get_current_function_mode_stack()) == before == 1

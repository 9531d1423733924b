"""Whatever breaks inside whygrad, the run goes on: same weights, one line on stderr, nothing left behind."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
import importlib
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import optimizer as optimizers

import whygrad
from whygrad import about
from whygrad.session import active

HOME = "whygrad.capture.torch"
HOOKS = """recording:Recorder.record recording:Recorder.node_of recording:Recorder.copied
    entrances:Entrances._parameter entrances:Entrances._copied entrances:Entrances._applied
    protocol:Protocol._stepping gradients:Gradients.cleared gradients:Gradients._clip protocol:Protocol.copied
    protocol:Protocol.seen gradients:Gradients.snapshot gradients:Gradients.settle
    gradients:Gradients.read gradients:Gradients.written gradients:Gradients.changed gradients:Gradients.taken
    protocol:Protocol.consumption protocol:Protocol.refresh weights:Weights.look weights:Weights.begin
    weights:Weights.before_step weights:Weights.stayed keeping:Keeping.stepped switching:Switching._switched
    backwards:Backwards.before backwards:Backwards.after stepping:Stepping.before
    stepping:Stepping.after stepping:Stepping.look touching:Touching.written touching:Touching.froze
    touching:Touching.used
    capture:Capture._op_raised naming:Naming.look extraction:Extraction.take
    raising:Errors.stepped raising:Errors.overwrote raising:Errors.freed raising:Errors.in_backward
    raising:Errors.in_operation regions:Regions.enter regions:Regions.leave regions:Regions.current
    regions:Regions.switch regions:Regions.function crossings:departed crossings:origins crossings:origin_of_tensor
    crossings:flattened shadow:Shadow.new shadow:Shadow.get shadow:Shadow.put
    parameters:Parameters.register window:Window.backward window:Window.step window:Window.should_close
    sampling:Sampling.before_step sampling:Sampling.after_step sampling:Sampling.deposited sampling:Sampling.finish
    statistics:measure_here statistics:values measurement:Marks.stand moving:Moving.after draft:Draft.finish
    scaling:Scaling.standing sampling:signals .budget:Budget.due .budget:Budget.settle showing:Shown.look
    showing:Shown.of draft:averages draft:noise weights:Weights.finish
    capture:Capture.open scaling:Scaling.follow threads:follow threads:insert hooks:observe
    hooks:real entrances:_differs entrances:_watch_backward
    differentiating:Differentiating.attach""".split()


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    yield
    session = active()
    if session is not None:
        session.stop()


def alone(work: Callable[[], None]) -> None:
    """In a thread of its own: should a test fail, its grad mode and its function modes go with the thread."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2


def training() -> list[Tensor]:
    """A loop that comes by every hook: regions, copies, departures, returns, errors that are caught."""
    torch.manual_seed(5)
    obs = torch.rand(6, 3)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.1), nn.Linear(4, 1))
    offset = nn.Parameter(torch.zeros(1))
    target = copy.deepcopy(net)
    for parameter in target.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.Adam([*net.parameters(), offset], lr=0.05)

    @torch.no_grad()
    def act(x: Tensor) -> Tensor:
        return torch.as_tensor(net(x))

    for _ in range(8):
        with torch.no_grad():
            goal = target(obs)
        with torch.inference_mode():
            spread = float(net(obs).std())
        torch.set_grad_enabled(False)
        mean = net(obs).mean().item()
        torch.set_grad_enabled(True)
        seen = torch.from_numpy(act(obs).numpy())
        with torch.enable_grad():
            out = Double.apply(net(obs)) + offset
        out.register_hook(lambda grad: grad * 2)
        with pytest.raises(RuntimeError):
            torch.ones(2, 3) @ torch.ones(3, 2, dtype=torch.float64)
        with pytest.raises(RuntimeError):
            (seen + 1.0).sum().backward()
        loss = (out - goal - 1.0).pow(2).mean() + (out * torch.tensor([spread, mean]).sum()).mean() * 0.01
        loss = loss + 0.01 * (out * seen).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        (taken,) = torch.autograd.grad((obs.sum() * offset).sum(), [offset])
        offset.grad = 0.1 * taken
        for parameter in net.parameters():
            assert parameter.grad is not None
            parameter.grad.mul_(0.5)
        net.eval()
        optimizer.step()
        net.train()
        net[0] = net[0]
        thread = threading.Thread(target=lambda: act(obs))
        thread.start()
        thread.join()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
                slow.copy_(0.9 * slow + 0.1 * fast)
    return [p.detach().clone() for p in (*net.parameters(), offset, *target.parameters())]


def touched() -> dict[str, Any]:
    """Everything of torch that is ever replaced."""
    mode = torch.autograd.grad_mode
    owners: list[tuple[Any, str]] = [
        (cls, name)
        for cls in (mode.no_grad, mode.enable_grad, mode.inference_mode, mode.set_grad_enabled)
        for name in ("__init__", "__enter__", "__exit__")
    ]
    owners += [(torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad")]
    owners += [(torch.optim.Optimizer, "__init__"), (torch.optim.Optimizer, "zero_grad"), (nn.Module, "zero_grad")]
    owners += [(nn.utils, "clip_grad_norm_"), (nn.utils, "clip_grad_value_"), (torch, "from_numpy")]
    owners += [(nn.Parameter, "__new__"), (nn.Parameter, "__deepcopy__"), (torch.autograd.Variable, "__new__")]
    owners += [(torch.autograd.Function, "apply"), (threading.Thread, "_bootstrap_inner"), (warnings, "showwarning")]
    found: dict[str, Any] = {}
    for owner, name in owners:
        value = vars(owner).get(name)
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        found[f"{owner.__name__}.{name}"] = value, getattr(plain, "__code__", None)
    found["step hooks"] = (
        list(optimizers._global_optimizer_pre_hooks.values()),
        list(optimizers._global_optimizer_post_hooks.values()),
    )
    return found


def inject(monkeypatch: pytest.MonkeyPatch, hook: str, allowed: int) -> None:
    """Let the hook work `allowed` times and fail ever after."""
    module, path = hook.split(":")
    owner: Any = importlib.import_module(f".{module}", HOME)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    original: Callable[..., Any] = getattr(owner, name)
    calls = [0]

    def failing(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] > allowed:
            raise RuntimeError("injected")
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, as_ours(failing))


def as_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """A failure of whygrad's own is known by its file."""
    function.__code__ = function.__code__.replace(co_filename=f"{about.HOME}injected.py")
    return function


def survives(capsys: pytest.CaptureFixture[str], trace: str = "auto") -> None:
    expected = training()
    before = touched()
    with whygrad.watch(trace=trace) as watching:
        weights = training()
    assert all(torch.equal(a, b) for a, b in zip(weights, expected, strict=True))
    report = watching.report
    tolerated = any("(values:" in gap.what for gap in report.gaps)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("whygrad:")]
    assert [line.startswith("whygrad: internal error") for line in lines] == ([] if tolerated else [True]), lines
    assert all("injected" in line for line in lines)
    assert torch.overrides._get_current_function_mode_stack() == []
    assert touched() == before
    assert torch.is_grad_enabled()
    assert report.loud == [], "what was seen by half proves nothing"
    if any("telemetry" in line for line in lines):
        assert any("telemetry" in limit for limit in report.limits)
        assert report.verdict == "healthy", "the diagnosis does not need it"
    else:
        assert any("internal error" in gap.what and "injected" in gap.detail for gap in report.gaps)
        assert report.verdict == "incomplete"


@pytest.mark.parametrize("hook", HOOKS)
def test_first_call_fails(hook: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    inject(monkeypatch, hook, 0)
    alone(lambda: survives(capsys))


LATER = [("recording:Recorder.record", n) for n in (9, 61, 240)]
LATER += [("shadow:Shadow.put", n) for n in (9, 61, 240)]
LATER += [("regions:Regions.enter", n) for n in (3, 11)] + [("regions:Regions.leave", n) for n in (3, 11)]


@pytest.mark.parametrize(("hook", "allowed"), LATER)
def test_later_call_fails(
    hook: str, allowed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inject(monkeypatch, hook, allowed)
    alone(lambda: survives(capsys, "always"))


@pytest.mark.parametrize("broken", ["capture.assemble", "assembly.parameters_of", "assembly._limits"])
def test_stop_never_raises(broken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module, name = broken.split(".")
    owner = importlib.import_module(f".{module}", HOME)

    def failing(*_: Any) -> Any:
        raise RuntimeError("injected")

    monkeypatch.setattr(owner, name, as_ours(failing))
    before = touched()

    def work() -> None:
        with whygrad.watch():
            assert len(training()) == 9

    alone(work)
    assert "injected" in capsys.readouterr().err
    assert touched() == before


@pytest.mark.parametrize("hook", ["capture:Capture._close", "protocol:Protocol.unhook", "shadow:Shadow.clear"])
def test_what_can_be_restored_is_restored(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, hook, 0)

    def work() -> None:
        expected = training()
        before = touched()
        with whygrad.watch():
            weights = training()
        assert all(torch.equal(a, b) for a, b in zip(weights, expected, strict=True))
        after = touched()
        assert [name for name in before if before[name] != after[name]] == (["step hooks"] if "unhook" in hook else [])
        for step_hooks in (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks):
            step_hooks.clear()

    alone(work)


def test_healthy_loop_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = touched()

    def work() -> None:
        with whygrad.watch() as watching:
            training()
        assert watching.report.limits == []
        assert watching.report.findings == []

    alone(work)
    assert capsys.readouterr().err == ""
    assert touched() == before

"""On a GPU: the same numbers, without ever waiting for the device."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from whygrad.capture.torch import Capture, Options, statistics
from whygrad.telemetry.record import Record

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture
def no_waiting() -> Iterator[None]:
    yield
    torch.cuda.set_sync_debug_mode("default")


def test_statistics_equal_those_of_the_cpu() -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(size, generator=generator) for size in (7, 3000, 50_000, 2_000_000)]
    tensors += [tensors[1].bfloat16(), tensors[1].half(), tensors[1].double() * 1e-30, tensors[2].relu()]
    tensors += [torch.tensor([float("nan"), 1.0, 0.0, float("inf")]), torch.full((40_000,), 1e25)]
    packed = statistics.measure_there([t.cuda() for t in tensors]).cpu()
    for tensor, there in zip(tensors, statistics.decode(packed, [t.numel() for t in tensors]), strict=True):
        [here] = statistics.measure_here([tensor])
        assert there.norm == pytest.approx(float(tensor.double().norm()), rel=1e-5, nan_ok=True)
        assert there.largest == pytest.approx(here.largest, rel=1e-6, nan_ok=True)
        assert (there.zeros, there.nonfinite, there.codes) == (here.zeros, here.nonfinite, here.codes)


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}, {"capturable": True}], ids=str)
def test_every_update_is_sampled_without_waiting(options: dict[str, Any], no_waiting: None) -> None:
    records: list[Record] = []
    net = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 4)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, **options)
    inputs = torch.randn(32, 64, device="cuda")
    raw = []

    def update() -> None:
        optimizer.zero_grad()
        net(inputs).pow(2).mean().backward()
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        raw.append(torch.stack(torch._foreach_norm(grads)).norm())
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        optimizer.step()

    capture = Capture(Options(budget=1.0, trace="off", emit=records.append))
    capture.start()
    for _ in range(4):
        update()
    torch.cuda.set_sync_debug_mode("error")
    for _ in range(20):
        update()
    torch.cuda.set_sync_debug_mode("default")
    capture.stop()
    assert capture.guard.broken is None
    expected = [float(norm) for norm in raw]
    found = {r.update: r for r in records}
    assert len(found) >= 4
    for number, record in found.items():
        assert record.raw is not None
        assert record.raw.norm == pytest.approx(expected[number - 1], rel=1e-4)
        assert record.was_clipped is True
        assert all(p.ratio is not None for p in record.parameters)
        assert all(p.noise is not None and 0 <= p.noise <= 1 for p in record.parameters)


def test_noise_equals_that_of_the_cpu() -> None:
    found = []
    for device in ("cpu", "cuda"):
        records: list[Record] = []
        generator = torch.Generator().manual_seed(0)
        weight = nn.Parameter(torch.zeros(5000, device=device))
        optimizer = torch.optim.Adam([weight], lr=0.0)
        capture = Capture(Options(budget=1.0, trace="off", emit=records.append))
        capture.start()
        for _ in range(8):
            optimizer.zero_grad()
            (weight * (1 + torch.randn(5000, generator=generator)).to(device)).sum().backward()
            optimizer.step()
        capture.stop()
        assert capture.guard.broken is None
        found.append([r.parameters[0].noise for r in records])
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_between_two_windows_nothing_waits(no_waiting: None) -> None:
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
    frozen = nn.Linear(8, 1).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    inputs = torch.randn(16, 8, device="cuda")

    def update() -> None:
        with torch.no_grad():
            goal = frozen(inputs)
        optimizer.zero_grad()
        (net(inputs) - goal).pow(2).mean().backward()
        optimizer.step()

    capture = Capture(Options(budget=0.02))
    capture.start()
    for _ in range(48):  # Windows are open until 6 and again at 21 and 41; the next one opens at 80.
        update()
    torch.cuda.set_sync_debug_mode("error")
    for _ in range(24):
        update()
    torch.cuda.set_sync_debug_mode("default")
    trace = capture.stop()
    assert capture.guard.broken is None
    moved = {p.name: p.moved for p in trace.parameters}
    assert (moved["net.0.weight"], moved["frozen.weight"]) == (True, False)


def test_a_scaler_is_divided_out_without_waiting() -> None:
    records: list[Record] = []
    net = nn.Linear(8, 4).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", init_scale=4096.0)
    inputs = torch.randn(16, 8, device="cuda")
    capture = Capture(Options(budget=1.0, trace="off", emit=records.append))
    capture.start()
    seen = []
    for _ in range(6):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = net(inputs).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        seen.append(float(torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None]).norm()))
        scaler.step(optimizer)
        scaler.update()
    capture.stop()
    assert capture.guard.broken is None
    assert {r.scale for r in records} == {4096.0}
    assert [r.raw.norm for r in records if r.raw is not None] == pytest.approx(seen[1:], rel=1e-4)


def test_a_graph_being_captured_holds_nothing_of_ours() -> None:
    net = nn.Linear(8, 4).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    inputs = torch.randn(16, 8, device="cuda")

    def update() -> None:
        optimizer.zero_grad(set_to_none=False)
        net(inputs).pow(2).mean().backward()
        optimizer.step()

    capture = Capture(Options(budget=1.0, trace="off"))
    capture.start()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    before = net.weight.detach().clone()
    graph.replay()
    torch.cuda.synchronize()
    capture.stop()
    assert capture.guard.broken is None
    assert not torch.equal(net.weight, before)

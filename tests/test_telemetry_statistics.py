"""Fused statistics equal a float64 reference; the budget holds on any workload."""

from __future__ import annotations

import itertools
import math
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad.capture.budget import EARLY, LEAST_GAP, MEASURED, Budget, Turn
from whygrad.capture.torch import statistics
from whygrad.capture.torch.statistics import BINNED, measure_here, values
from whygrad.telemetry.histogram import Histogram
from whygrad.telemetry.record import Gradient

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def measured(tensors: list[torch.Tensor]) -> list[Gradient]:
    flats = []
    for tensor in tensors:
        flat = values(tensor)
        assert isinstance(flat, torch.Tensor)
        flats.append(flat)
    return [numbers.gradient(f.numel(), f.numel()) for numbers, f in zip(measure_here(flats), flats, strict=True)]


def check(tensor: torch.Tensor, found: Gradient) -> None:
    wide = tensor.double().flatten()
    finite = torch.isfinite(wide)
    assert found.nonfinite == pytest.approx(float((~finite).double().mean()), abs=1e-12)
    assert found.zeros == pytest.approx(float((wide == 0).double().mean()), abs=1e-12)
    if bool(finite.all()):
        assert found.norm == pytest.approx(float(wide.norm()), rel=1e-5)
        assert found.largest == pytest.approx(float(wide.abs().max()), rel=1e-5)
    else:
        assert not math.isfinite(found.norm)
        assert not math.isfinite(found.largest)


def single(bits: int) -> float:
    return float(struct.unpack("f", struct.pack("I", bits))[0])


ANY = st.integers(min_value=0, max_value=2**32 - 1).map(single)


@settings(deadline=None)
@given(st.lists(st.lists(ANY, min_size=1, max_size=50), min_size=1, max_size=5))
def test_statistics_equal_a_reference_for_any_floats(lists: list[list[float]]) -> None:
    tensors = [torch.tensor(numbers, dtype=torch.float32) for numbers in lists]
    for tensor, found in zip(tensors, measured(tensors), strict=True):
        check(tensor, found)
        assert found.histogram == Histogram.of(tensor.tolist())


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 90_000), st.sampled_from(DTYPES)), min_size=1, max_size=4),
    st.floats(min_value=-30, max_value=30),
    st.integers(0, 2**31),
)
def test_statistics_equal_a_reference_for_any_size_and_type(
    kinds: list[tuple[int, torch.dtype]], power: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for size, dtype in kinds:
        scale = 10.0 ** (power if dtype != torch.float16 else power / 10)
        tensors.append((torch.randn(size, generator=generator, dtype=torch.float64) * scale).relu().to(dtype))
    for tensor, found in zip(tensors, measured(tensors), strict=True):
        check(tensor, found)
        assert found.histogram.total == min(tensor.numel(), len(range(0, tensor.numel(), -(-tensor.numel() // BINNED))))


def test_two_million_values_are_summed_without_drift() -> None:
    tensor = torch.randn(2_000_000, generator=torch.Generator().manual_seed(1)) * 1e-3
    [found] = measured([tensor])
    assert found.norm == pytest.approx(float(tensor.double().norm()), rel=1e-6)


def test_any_memory_layout_is_read_whole() -> None:
    base = torch.arange(1.0, 241.0).view(4, 3, 4, 5)
    for tensor in (
        base.to(memory_format=torch.channels_last),
        base.transpose(0, 3),
        base[:, ::2],
        base.expand(2, 4, 3, 4, 5),
    ):
        [found] = measured([tensor])
        check(tensor, found)


def test_a_sparse_gradient_counts_what_it_does_not_store_as_zero() -> None:
    indices = torch.tensor([[1, 1, 4]])
    sparse = torch.sparse_coo_tensor(
        indices, torch.tensor([[1.0, 2.0], [2.0, 2.0], [0.0, 1.0]]), (10, 2), check_invariants=True
    )
    flat = values(sparse)
    assert isinstance(flat, torch.Tensor)
    [numbers] = measure_here([flat])
    check(sparse.to_dense(), numbers.gradient(sparse.numel(), flat.numel()))


@pytest.mark.parametrize(
    "tensor",
    [torch.zeros(3, device="meta"), torch.zeros(3, dtype=torch.complex64), torch.zeros(3, dtype=torch.int64)],
    ids=["meta", "complex", "integer"],
)
def test_what_cannot_be_measured_says_why(tensor: torch.Tensor) -> None:
    assert "not measured" in str(values(tensor))


def test_what_a_device_packs_is_decoded_to_the_same() -> None:
    tensors = [torch.randn(50), torch.randn(40_000).relu(), torch.tensor([math.nan, 1.0, 0.0])]
    packed = statistics.measure_there(tensors)
    for here, there in zip(measure_here(tensors), statistics.decode(packed, [t.numel() for t in tensors]), strict=True):
        assert there.norm == pytest.approx(here.norm, rel=1e-6, nan_ok=True)
        assert there.largest == pytest.approx(here.largest, nan_ok=True)
        assert (there.zeros, there.nonfinite, there.codes) == (here.zeros, here.nonfinite, here.codes)


def test_a_scalers_factor_is_divided_out() -> None:
    tensor = torch.randn(100)
    [plain], [scaled] = measured([tensor]), measure_here([tensor * 1024])
    found = scaled.gradient(100, 100, 1024.0)
    assert found.norm == pytest.approx(plain.norm, rel=1e-6)
    assert found.histogram == plain.histogram


# -- the budget


class FakeClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def simulate(cost: float, update: float, seconds: float, share: float = 0.02) -> tuple[Budget, list[float]]:
    """Updates of a given length; a sample costs what it costs. Returns when samples were taken."""
    clock = FakeClock()
    budget, turn, taken, steps, wait = Budget(share, clock), Turn(), [], 0, 0
    while clock.now < 100.0 + seconds:
        clock.now += update
        steps += 1
        if steps < wait:
            continue
        if budget.due(turn):
            taken.append(clock.now)
            with budget.spending(turn):
                clock.now += cost
            budget.settle(turn, 1)
            wait = steps + 1
        else:
            wait = steps + budget.skip(turn, steps)
    return budget, taken


@pytest.mark.parametrize("cost", [1e-5, 1e-3, 0.05, 1.0])
@pytest.mark.parametrize("update", [2e-4, 1e-2, 0.6])
def test_the_cost_stays_within_the_share(cost: float, update: float) -> None:
    budget, taken = simulate(cost, update, 150.0)
    gaps = [after - before for before, after in itertools.pairwise(taken)]
    assert taken[0] == pytest.approx(100.0 + update)
    assert budget.spent <= 0.02 * budget.elapsed + cost
    assert all(gap >= cost / 0.02 for gap in gaps)
    assert all(gap >= LEAST_GAP for gap in gaps[EARLY:])
    assert len(taken) >= 0.4 * 150.0 / max(LEAST_GAP, cost / (0.02 * MEASURED), update)


def test_a_pause_is_not_followed_by_a_burst() -> None:
    clock = FakeClock()
    budget, turn = Budget(0.02, clock), Turn()
    for _ in range(3):
        with budget.spending(turn):
            clock.now += 0.1
        budget.settle(turn, 1)
    clock.now += 3600.0
    assert budget.due(turn)
    with budget.spending(turn):
        clock.now += 0.1
    budget.settle(turn, 1)
    assert not budget.due(turn)
    assert turn.at == pytest.approx(clock.now + 0.1 / (0.02 * MEASURED))


def test_what_is_taken_ahead_of_time_is_paid_for_in_full() -> None:
    clock = FakeClock()
    budget, turn = Budget(0.02, clock), Turn()
    for _ in range(3):  # Three traced updates in a row, sampled whatever the clock says.
        budget.charge(turn, 0.05)
        budget.settle(turn, 1)
    assert turn.at == pytest.approx(clock.now + 3 * 0.05 / (0.02 * MEASURED))


def test_several_optimizers_share_and_late_costs_count() -> None:
    clock = FakeClock()
    budget, turn = Budget(0.02, clock), Turn()
    budget.charge(turn, 0.01)
    budget.settle(turn, 3)
    assert turn.at == pytest.approx(100.0 + 3 * 0.01 / (0.02 * MEASURED))
    budget.late(turn, 0.002, 3)
    assert turn.at == pytest.approx(100.0 + 3 * 0.012 / (0.02 * MEASURED))
    assert budget.spent == pytest.approx(0.012)


def test_the_whole_share_samples_every_update() -> None:
    _, taken = simulate(1e-3, 1e-2, 1.0, share=1.0)
    assert len(taken) == pytest.approx(1.0 / 0.011, abs=2)

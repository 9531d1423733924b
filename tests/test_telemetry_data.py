"""Histograms that add up, records and summaries: plain data."""

from __future__ import annotations

import itertools
import json
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygrad.sinks.scalars import Scalars
from whygrad.telemetry.histogram import BINS, Histogram, bin_of, limits
from whygrad.telemetry.record import Activation, Gradient, ParameterSample, Record
from whygrad.telemetry.series import MOST, Series
from whygrad.telemetry.summary import Summary

FLOATS = st.floats(width=32)
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.lists(FLOATS)))
def test_merged_histograms_equal_the_histogram_of_the_whole(parts: list[list[float]]) -> None:
    merged = Histogram()
    for part in parts:
        merged.merge(Histogram.of(part))
    assert merged == Histogram.of(value for part in parts for value in part)


@given(st.lists(FLOATS))
def test_a_stored_histogram_comes_back(values: list[float]) -> None:
    histogram = Histogram.of(values)
    assert Histogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram


@given(st.floats(min_value=2.0**-40, max_value=2.0**23, width=32), st.booleans())
def test_a_value_lies_within_the_limits_of_its_bin(magnitude: float, negative: bool) -> None:
    value = -magnitude if negative else magnitude
    low, high = limits(bin_of(value))
    assert low <= value <= high
    assert high - low <= 0.5 * magnitude


@given(st.lists(FINITE))
def test_buckets_are_in_order_without_gaps_and_count_everything(values: list[float]) -> None:
    buckets = list(Histogram.of(values).buckets())
    assert sum(count for _, _, count in buckets) == len(values)
    assert all(low < high for low, high, _ in buckets)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(buckets))


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6, width=32), min_size=1))
def test_the_median_lies_in_the_bin_of_the_true_one(values: list[float]) -> None:
    true = sorted(values)[(len(values) - 1) // 2]
    found = Histogram.of(values).quantile(0.5)
    assert math.isclose(found, true, rel_tol=0.5, abs_tol=2.0**-39)


def test_what_is_too_small_or_too_large_goes_to_the_outer_bins() -> None:
    histogram = Histogram.of([1e-30, -1e30, 0.0, -0.0, math.nan, math.inf])
    assert histogram == Histogram({1: 1, -BINS: 1}, zeros=2, nonfinite=2)
    assert histogram.total == 4


def test_a_bin_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        Histogram.from_json({"bins": {"0": 1}, "zeros": 0, "nonfinite": 0})


def gradient(norm: float, size: int = 4, zeros: float = 0.0) -> Gradient:
    return Gradient(norm, norm, zeros, 0.0, size, Histogram.of([norm] * size))


def record(update: int, raw: float = 2.0, clipped: float = 1.0) -> Record:
    sample = ParameterSample("net.0.weight", "net", 4, gradient(raw), gradient(clipped), 0.01, 1e-3)
    bias = ParameterSample("net.0.bias", "net", 2, gradient(raw, 2, 0.5), gradient(clipped, 2), 0.02, 1e-3)
    return Record(update, 0.1 * update, "optimizer", [sample, bias], {"loss": 3.0}, {"entropy": 0.5})


def test_a_term_as_written_is_one_level_of_a_tag() -> None:
    traced = record(1)
    traced.terms = {"kl / beta": {"net": 0.5}, "value": {"net": math.inf}}
    traced.activations = {"net.0": Activation(False, 0.5, 0.25), "net.2": Activation(True, 0.125)}
    shown = Scalars().of(traced)
    assert {tag: value for tag, value in shown.items() if tag.startswith(("term/", "activation/"))} == {
        "term/kl ÷ beta/net": 0.5,
        "activation/net.0/zeros": 0.5,
        "activation/net.0/dead": 0.25,
        "activation/net.2/saturated": 0.125,
    }
    stored = json.loads(json.dumps(traced.to_json(), allow_nan=False))
    assert stored["terms"] == {"kl / beta": {"net": 0.5}, "value": {"net": None}}
    assert stored["activations"]["net.2"] == {"saturated": 0.125}
    summary = Summary()
    summary.add(traced)
    again = Summary.from_json(json.loads(json.dumps(summary.to_json())))
    assert again.terms["kl / beta → net"].latest == (1, 0.5)
    assert again.activations["net.0 dead"].latest == (1, 0.25)


def test_a_layer_is_its_parameters_together() -> None:
    [layer] = record(1, raw=3.0).layers()
    assert (layer.name, layer.ratio) == ("net.0", 0.02)
    assert layer.raw is not None
    assert layer.raw.norm == pytest.approx(math.sqrt(18.0))
    assert layer.raw.zeros == pytest.approx(1 / 6)
    assert (layer.raw.size, layer.was_clipped) == (6, True)


def test_nan_in_any_parameter_shows_in_the_layer() -> None:
    whole = Gradient.together([gradient(1.0), Gradient(math.nan, math.nan, 0.0, 0.25, 4)])
    assert whole is not None
    assert math.isnan(whole.largest)
    assert whole.nonfinite == 0.125
    assert whole.to_json()["norm"] is None


@pytest.mark.parametrize(("raw", "clipped", "expected"), [(2.0, 1.0, True), (2.0, 2.0, False), (2.0, 1.99999, False)])
def test_clipping_is_a_norm_that_fell(raw: float, clipped: float, expected: bool) -> None:
    assert record(1, raw, clipped).was_clipped is expected


def test_without_a_raw_gradient_nothing_is_said_about_clipping() -> None:
    lone = Record(1, 0.0, "optimizer", [ParameterSample("w", "w", 4, None, gradient(1.0))])
    assert lone.was_clipped is None
    assert lone.to_json()["raw_norm"] is None


@given(st.integers(min_value=0, max_value=2000))
def test_a_series_is_bounded_and_keeps_its_ends(count: int) -> None:
    series = Series()
    for update in range(count):
        series.add(update, float(update))
    shown = series.shown()
    assert len(shown) <= MOST + 1
    assert shown[:1] + shown[-1:] == ([(0, 0.0), (count - 1, count - 1.0)] if count else [])
    assert shown == sorted(set(shown))


def test_a_summary_stays_small_and_comes_back() -> None:
    summary = Summary()
    for update in range(1, 1000):
        summary.add(record(update, clipped=1.0 if update % 4 else 2.0))
    text = json.dumps(summary.to_json(), allow_nan=False)
    assert len(text) < 10_000
    again = Summary.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == text
    assert again.clip_rate == pytest.approx(0.75, abs=0.01)
    assert again.parameters["net.0.weight"].raw.histogram.total == 999 * 4
    assert again.parameters["net.0.weight"].raw.norm == pytest.approx(2.0)
    assert again.series["entropy"].latest == (999, 0.5)


def test_the_variation_of_a_norm_is_that_of_its_samples() -> None:
    summary, norms = Summary(), [1.0, 2.0, 4.0, 3.0]
    for update, norm in enumerate(norms):
        summary.add(record(update, raw=norm))
    course = Summary.from_json(json.loads(json.dumps(summary.to_json()))).parameters["net.0.weight"].raw
    assert course.variation == pytest.approx(statistics.pstdev(norms) / statistics.mean(norms))
    assert Summary().to_json()["parameters"] == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(FINITE, min_size=1, max_size=4)), min_size=1, max_size=80))
def test_phases_add_up_to_the_run(samples: list[tuple[str, list[float]]]) -> None:
    summary = Summary()
    for update, (optimizer, values) in enumerate(samples):
        gradient = Gradient(1.0 + update, 1.0, 0.0, 0.0, 4, Histogram.of(values))
        summary.add(Record(update, 0.0, optimizer, [ParameterSample(f"{optimizer}.w", optimizer, 4, gradient)]))
    phases = Summary.from_json(json.loads(json.dumps(summary.to_json()))).phases
    assert 1 <= len(phases) <= 8
    assert [p.first for p in phases] == sorted(p.first for p in phases)
    assert (phases[0].first, phases[-1].last) == (0, len(samples) - 1)
    for name in {optimizer for optimizer, _ in samples}:
        mine = [values for optimizer, values in samples if optimizer == name]
        together = Histogram()
        for phase in phases:
            together.merge(phase.modules[name][0] if name in phase.modules else Histogram())
        assert together == Histogram.of(value for values in mine for value in values)
        assert sum(p.layers[name][0].samples for p in phases if name in p.layers) == len(mine)
        assert max(p.layers[name][0].mean for p in phases if name in p.layers) <= len(samples) / 2

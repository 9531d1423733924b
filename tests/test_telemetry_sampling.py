"""What is sampled of real training loops: raw after backward, clipped before the step, and nothing is changed."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import whygrad
from test_identical import Run, dqn, outcome, ppo, sac
from whygrad.capture.torch import Capture, Options, measurement, sampling
from whygrad.session import active
from whygrad.telemetry.record import Record

LIMIT = 0.5


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    yield
    session = active()
    if session is not None:
        session.stop()


class Seen:
    """What a loop itself saw of its gradients, to compare with."""

    def __init__(self) -> None:
        self.raw: list[float] = []
        self.consumed: list[float] = []

    @staticmethod
    def norm(net: nn.Module) -> float:
        grads = [p.grad.to_dense().double().flatten() for p in net.parameters() if p.grad is not None]
        return float(torch.cat(grads).norm())


def watched(run: Callable[[], Any], share: float = 1.0, trace: str = "auto") -> list[Record]:
    records: list[Record] = []
    capture = Capture(Options(trace=trace, budget=share, emit=records.append))
    capture.start()
    try:
        run()
    finally:
        capture.stop()
    assert capture.guard.broken is None
    return records


def loop(
    clip: Callable[[nn.Module], Any],
    steps: int = 4,
    backwards: int = 1,
    optimizer: Any = torch.optim.Adam,
    **options: Any,
) -> tuple[Seen, Callable[[], None]]:
    seen = Seen()

    def run() -> None:
        torch.manual_seed(0)
        q_net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
        updater = optimizer(q_net.parameters(), lr=1e-3, **options)
        for _ in range(steps):
            updater.zero_grad()
            for _ in range(backwards):
                loss = (q_net(torch.randn(8, 3)) - 5.0).pow(2).mean()
                loss.backward()
            seen.raw.append(seen.norm(q_net))
            clip(q_net)
            seen.consumed.append(seen.norm(q_net))
            updater.step()

    return seen, run


def by_data(net: nn.Module) -> None:
    for parameter in net.parameters():
        assert parameter.grad is not None
        parameter.grad.data.clamp_(-0.01, 0.01)


def by_hand(net: nn.Module) -> None:
    for parameter in net.parameters():
        assert parameter.grad is not None
        parameter.grad = parameter.grad * 0.1


CLIPS: list[Callable[[nn.Module], Any]] = [
    lambda net: nn.utils.clip_grad_norm_(net.parameters(), LIMIT),
    lambda net: nn.utils.clip_grad_value_(net.parameters(), 0.01),
    by_data,
    by_hand,
    lambda net: None,
]


@pytest.mark.parametrize("trace", ["auto", "off"])
@pytest.mark.parametrize("clip", CLIPS, ids=["norm", "value", "data", "hand", "none"])
def test_raw_and_clipped_are_what_stood_there(clip: Callable[[nn.Module], Any], trace: str) -> None:
    seen, run = loop(clip)
    records = watched(run, trace=trace)
    assert [r.update for r in records] == [2, 3, 4]
    for record, raw, consumed in zip(records, seen.raw[1:], seen.consumed[1:], strict=True):
        assert record.raw is not None
        assert record.clipped is not None
        assert record.raw.norm == pytest.approx(raw, rel=1e-5)
        assert record.clipped.norm == pytest.approx(consumed, rel=1e-5)
        assert record.was_clipped is (clip is not CLIPS[-1])
    names = [p.name for p in records[0].parameters]
    assert names == ["q_net.0.weight", "q_net.0.bias", "q_net.2.weight", "q_net.2.bias"]
    assert records[0].losses.keys() == {"loss"}


def test_untouched_gradients_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = []
    original = measurement.Measurement

    def counted(*args: Any, only_norms: bool = False) -> Any:
        whole.append(not only_norms)
        return original(*args, only_norms=only_norms)

    monkeypatch.setattr(sampling, "Measurement", counted)
    _, run = loop(lambda net: None)
    records = watched(run)
    assert len(records) == 3
    assert sum(whole) == 3
    assert records[0].parameters[0].clipped is records[0].parameters[0].raw


@pytest.mark.parametrize("backwards", [2, 3, 7])
def test_the_last_of_several_backwards_counts(backwards: int) -> None:
    seen, run = loop(CLIPS[0], backwards=backwards)
    records = watched(run)
    for record, raw in list(zip(records, seen.raw[1:], strict=True))[1:]:  # How many come is learnt from the first.
        assert record.raw is not None
        assert record.raw.norm == pytest.approx(raw, rel=1e-5)


def test_the_update_ratio_is_the_length_of_the_change_over_that_of_the_weights() -> None:
    net = nn.Linear(4, 3, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    expected = []

    def run() -> None:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(2, 4)).pow(2).sum().backward()
            before = net.weight.detach().clone()
            optimizer.step()
            expected.append(float((net.weight.detach() - before).norm() / before.norm()))

    records = watched(run)
    assert [r.parameters[0].ratio for r in records] == pytest.approx(expected[1:])
    assert [r.parameters[0].rate for r in records] == [0.1, 0.1]


@pytest.mark.parametrize(
    "options",
    [{"foreach": True}, {"fused": True}, {"capturable": False, "amsgrad": True}],
    ids=["foreach", "fused", "plain"],
)
def test_implementations_of_an_optimizer_make_no_difference(options: dict[str, Any]) -> None:
    seen, run = loop(CLIPS[0], **options)
    assert [r.raw.norm for r in watched(run) if r.raw is not None] == pytest.approx(seen.raw[1:], rel=1e-5)


def test_a_closure_gives_raw_gradients_only() -> None:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
    inputs = torch.randn(8, 3)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = (net(inputs) - 1.0).pow(2).mean()
        loss.backward()
        return loss

    records = watched(lambda: [optimizer.step(closure) for _ in range(4)])
    assert records
    assert all(r.raw is not None and r.clipped is None and r.was_clipped is None for r in records)
    assert all(p.ratio is not None for r in records for p in r.parameters)


def test_an_optimizer_inside_backward_shows_what_it_consumes() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}

    def step(parameter: Tensor) -> None:
        optimizers[parameter].step()  # type: ignore[index]
        optimizers[parameter].zero_grad()  # type: ignore[index]

    for parameter in net.parameters():
        parameter.register_post_accumulate_grad_hook(step)
    records = watched(lambda: [net(torch.ones(2, 3)).sum().backward() for _ in range(5)])
    assert len(records) == 4 * len(optimizers)
    assert all(r.raw is None and r.clipped is not None for r in records)


def test_a_gradient_scaler_is_divided_out() -> None:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    seen: list[float] = []

    def run() -> None:
        for _ in range(4):
            optimizer.zero_grad()
            loss = net(torch.ones(2, 3)).pow(2).sum()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            seen.append(Seen.norm(net))
            scaler.step(optimizer)
            scaler.update()

    records = watched(run)
    assert [r.raw.norm for r in records if r.raw is not None] == pytest.approx(seen[1:], rel=1e-5)
    assert [(r.scale, r.was_clipped) for r in records] == [(1024.0, False)] * 3


@pytest.mark.parametrize("enabled", [True, False])
def test_scalers_are_remembered_to_the_end(enabled: bool) -> None:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    capture = Capture()

    def run() -> None:
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, enabled=enabled)
        for _ in range(6):
            optimizer.zero_grad()
            scaler.scale(net(torch.full((2, 3), 4.0)).pow(2).sum()).backward()
            scaler.step(optimizer)
            scaler.update()

    capture.start()
    run()  # The scaler itself is gone by the end.
    trace = capture.stop()
    assert capture.guard.broken is None
    assert len(trace.scalers) == enabled
    for scaler in trace.scalers:
        assert (scaler.start, scaler.calls) == (2.0**127, 6)
        assert scaler.end == 2.0 ** (127 - round(scaler.overflows)) < scaler.start
        assert scaler.site is not None


def test_sparse_and_missing_gradients() -> None:
    table = nn.Embedding(50, 4, sparse=True)
    idle = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([*table.parameters(), idle], lr=0.1)

    def run() -> None:
        for _ in range(3):
            optimizer.zero_grad()
            table(torch.tensor([1, 1, 7])).sum().backward()
            optimizer.step()

    records = watched(run)
    assert [p.name for p in records[0].parameters] == ["table.weight"]
    [sample] = records[0].parameters
    assert sample.raw is not None
    assert (sample.raw.zeros, sample.raw.largest) == (0.96, 2.0)
    assert sample.raw.norm == pytest.approx(math.sqrt(4 * 4 + 4))


def test_an_optimizer_that_waits_too_long_is_given_up_and_found_again() -> None:
    fast, slow = nn.Linear(2, 1), nn.Linear(2, 1)
    often, rarely = torch.optim.SGD(fast.parameters(), lr=0.1), torch.optim.SGD(slow.parameters(), lr=0.1)

    def run() -> None:
        for update in range(300):
            often.zero_grad()
            fast(torch.ones(1, 2)).sum().backward()
            often.step()
            if update % 100 == 0:
                rarely.zero_grad()
                slow(torch.ones(1, 2)).sum().backward()
                rarely.step()

    records = watched(run)
    assert sum(r.optimizer == "often" for r in records) == 299


def test_a_user_of_a_dispatch_mode_does_not_see_us() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    def flops() -> dict[str, Any]:
        _, run = loop(lambda net: None, steps=2)
        with FlopCounterMode(display=False) as counter:
            run()
        return dict(counter.get_flop_counts())

    plain = flops()
    found: list[Any] = []
    assert watched(lambda: found.append(flops())) == []
    assert found == [plain]


def test_signals_are_recognised_by_their_usual_names() -> None:
    def learn() -> None:
        policy = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        approx_kl = 0.25
        for _ in range(3):
            ratio = policy(torch.ones(4, 3)).exp()
            advantages = torch.tensor([1.0, -1.0, 3.0, 1.0])
            td_error = torch.tensor([-1.0, 3.0])
            returns = [1, 2]
            loss = -(ratio.mean(1) * advantages).mean()
            optimizer.zero_grad()
            loss.backward()
            expected.append(float(ratio.mean()))
            optimizer.step()
        assert (approx_kl, len(td_error), len(returns)) == (0.25, 2, 2)

    expected: list[float] = []
    records = watched(learn)
    assert [r.signals.pop("ratio") for r in records] == pytest.approx(expected[1:])
    assert [r.signals for r in records] == [{"approx_kl": 0.25, "advantage": 1.0, "td_error": 2.0}] * 2


def test_nothing_is_sampled_without_a_budget() -> None:
    _, run = loop(CLIPS[0])
    assert watched(run, share=0.0) == []


def test_the_default_budget_takes_a_first_sample_early() -> None:
    _, run = loop(CLIPS[0], steps=3)
    assert [r.update for r in watched(run, share=0.02)][:1] == [2]


@pytest.mark.parametrize("run", [dqn, ppo, sac], ids=lambda run: str(run.__name__))
def test_sampling_every_update_changes_nothing(run: Run) -> None:
    weights, grads, streams = outcome(run, None)
    again: list[Any] = []
    records = watched(lambda: again.append(outcome(run, None)))
    watched_weights, watched_grads, watched_streams = again[0]
    assert len(records) >= 17
    assert all(torch.equal(a, b) for a, b in zip(weights, watched_weights, strict=True))
    for plain, sampled in zip(grads, watched_grads, strict=True):
        assert (plain is None) == (sampled is None)
        assert plain is None or sampled is None or torch.equal(plain, sampled)
    assert watched_streams == streams


def test_the_report_holds_the_telemetry() -> None:
    _, run = loop(CLIPS[0])
    with whygrad.watch(budget=100) as watching:
        run()
    telemetry = watching.report.telemetry
    assert telemetry is not None
    assert (telemetry.samples, telemetry.clip_rate) == (3, 1.0)
    assert list(telemetry.norms) == ["q_net.0", "q_net.2"]
    assert 0 < telemetry.cost < telemetry.seconds

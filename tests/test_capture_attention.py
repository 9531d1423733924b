"""Attention in evaluation takes torch's faster paths under a watch as well, and what is wrong around it is found."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import whygrad
from whygrad.session import active

PADDING = torch.tensor([[False, False, True, True], [False, False, False, False]])


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of nested tensors, which the encoder makes.
        yield
    session = active()
    if session is not None:
        session.stop()


def encoder() -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2)


def looked(layer: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        if isinstance(layer, nn.MultiheadAttention):
            return torch.as_tensor(layer(x, x, x, need_weights=False)[0])
        padding = {"src_key_padding_mask": PADDING} if isinstance(layer, nn.TransformerEncoder) else {}
        return torch.as_tensor(layer(x, **padding))


@pytest.mark.parametrize(
    "layer",
    [encoder(), encoder().layers[0], nn.MultiheadAttention(8, 2, batch_first=True)],
    ids=lambda m: type(m).__name__,
)
def test_the_same_bits(layer: nn.Module) -> None:
    layer.eval()
    x = torch.randn(2, 4, 8)
    expected = looked(layer, x)
    with whygrad.watch() as watching:
        seen = looked(layer, x)
    assert torch.equal(seen, expected)
    assert [gap.what for gap in watching.report.gaps] == ["no backward() and no optimizer step was seen"]


def test_a_mode_of_the_scripts_counts_as_before() -> None:
    class Listening(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    layer, x = encoder().eval(), torch.randn(2, 4, 8)
    with Listening():
        expected = looked(layer, x)
    with whygrad.watch(), Listening():
        seen = looked(layer, x)
    assert torch.equal(seen, expected)


def found(detached: bool) -> list[str]:
    """A frozen encoder in evaluation, behind a network that is trained or cut off."""
    memory, inwards, head = encoder().eval().requires_grad_(False), nn.Linear(3, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*inwards.parameters(), *head.parameters()], lr=0.1)
    with whygrad.watch() as watching:
        for _ in range(6):
            given = inwards(torch.randn(2, 4, 3))
            mixed = memory(given.detach() if detached else given, src_key_padding_mask=PADDING)
            loss = head(mixed.mean(1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [finding.code for finding in watching.report.loud]


def test_a_cut_before_the_faster_path_is_found() -> None:
    assert found(detached=True) == ["WG103"]


def test_gradient_through_a_frozen_encoder_is_healthy() -> None:
    assert found(detached=False) == []

"""Unusual tensors and calls: nothing breaks, nothing is said that is not so."""

# mypy: disallow-untyped-calls=False

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import whygrad
from whygrad.report.model import Report
from whygrad.session import active


@pytest.fixture(autouse=True)
def _tidy() -> Iterator[None]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    session = active()
    if session is not None:
        session.stop()
    while torch.overrides._get_current_function_mode_stack():
        torch.overrides._pop_mode()
    torch.set_grad_enabled(True)


def watched(loss_of: Callable[[nn.Linear], Tensor], rounds: int = 7, device: str = "cpu") -> Report:
    torch.manual_seed(2)
    net = nn.Linear(4, 2, device=device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with whygrad.watch() as watching:
        for _ in range(rounds):
            loss = loss_of(net)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return watching.report


def healthy(loss_of: Callable[[nn.Linear], Tensor], device: str = "cpu") -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = watched(loss_of, device=device)
    assert report.limits == []
    assert report.findings == []
    assert report.updates == 7


def squared(out: Tensor) -> Tensor:
    return out.pow(2).mean()


def test_compressed_sparse_operand() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = torch.eye(4).to_sparse_csr()
    healthy(lambda net: squared(graph @ net(torch.randn(4, 4))))


def test_coordinate_sparse_operand() -> None:
    graph = torch.eye(4).to_sparse()
    healthy(lambda net: squared(torch.sparse.mm(graph, net(torch.randn(4, 4)))))


def test_nested_operand() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ragged = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)])
    healthy(lambda net: squared(torch.nested.to_padded_tensor(net(ragged), 0.0)))


def test_meta_device() -> None:
    healthy(lambda net: squared(net(torch.randn(8, 4, device="meta"))), device="meta")


def test_complex_numbers() -> None:
    healthy(lambda net: torch.view_as_real(torch.fft.fft(net(torch.randn(8, 4)))).pow(2).mean())


def test_half_precision_and_double() -> None:
    healthy(lambda net: squared(net(torch.randn(8, 4)).bfloat16().double()))


def test_empty_batch_beside_a_full_one() -> None:
    healthy(lambda net: squared(net(torch.randn(8, 4))) + net(torch.randn(0, 4)).sum())


def test_subclass_of_tensor() -> None:
    class Tagged(Tensor):
        pass

    healthy(lambda net: squared(net(torch.randn(8, 4).as_subclass(Tagged)).as_subclass(Tensor)))


def test_in_place_into_a_buffer() -> None:
    def loss(net: nn.Linear) -> Tensor:
        buffer = torch.zeros(3, 8, 2)
        for row in range(3):
            buffer[row] = net(torch.randn(8, 4))
        buffer[0].mul_(2.0)
        return squared(buffer)

    healthy(loss)


def test_copy_made_in_inference_mode() -> None:
    net = nn.Linear(4, 2)
    with whygrad.watch() as watching:
        squared(net(torch.randn(8, 4))).backward()
        with torch.inference_mode():
            frozen = copy.deepcopy(net)
            frozen(torch.randn(8, 4))
    assert watching.report.limits == []
    assert watching.report.findings == []


def test_buffer_in_memory_that_a_weight_has_left() -> None:
    net, head = nn.Linear(256, 256), nn.Linear(256, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
    with whygrad.watch() as watching:
        old = net.weight.data_ptr()
        net.weight.data = net.weight.data.clone()
        buffer = next((t for t in (torch.empty(256, 256) for _ in range(50)) if t.data_ptr() == old), None)
        if buffer is None:
            pytest.skip("this allocator did not use the memory again")
        for _ in range(3):
            buffer.copy_(net(torch.randn(256, 256)).detach())
            loss = squared(head(buffer))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [finding.code for finding in watching.report.loud] == ["WG103"]


def test_state_is_saved_and_loaded(tmp_path: object) -> None:
    net = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(net.parameters())
    with whygrad.watch(trace="always") as watching:
        for _ in range(4):
            loss = squared(net(torch.randn(8, 4)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.save([net.state_dict(), optimizer.state_dict()], f"{tmp_path}/state.pt")
            states = torch.load(f"{tmp_path}/state.pt")
            net.load_state_dict(states[0])
            optimizer.load_state_dict(states[1])
            whole = f"{tmp_path}/net.pt"
            torch.save(net, whole)
            assert torch.equal(torch.load(whole, weights_only=False).weight, net.weight)
    assert watching.report.limits == []
    assert watching.report.findings == []


def test_retained_graph_and_two_losses() -> None:
    def loss(net: nn.Linear) -> Tensor:
        out = net(torch.randn(8, 4))
        squared(out).backward(retain_graph=True)
        return squared(out - 1.0)

    healthy(loss)


def test_parametrized_and_normed_weights() -> None:
    net = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 1))
    optimizer = torch.optim.Adam([*net.parameters(), *spectral.parameters()])
    with whygrad.watch() as watching:
        for _ in range(7):
            loss = squared(spectral(net(torch.randn(8, 4))))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert watching.report.limits == []
    assert watching.report.findings == []


class Places:
    """Makes arrays until one lies where another array lay."""

    def __init__(self) -> None:
        self.address = 0
        self.met = 0

    def leave(self, array: Any) -> None:
        self.address = array.__array_interface__["data"][0]

    def array(self) -> Any:
        made = [np.ones(65536, dtype=np.float32) for _ in range(30)]
        for array in made:
            if array.__array_interface__["data"][0] == self.address:
                self.met += 1
                return array
        return made[0]


def test_array_in_memory_that_another_has_left() -> None:
    scorer, value, places = nn.Linear(1, 65536), nn.Linear(65536, 1), Places()
    optimizer = torch.optim.SGD([*scorer.parameters(), *value.parameters()], lr=1e-7)
    with whygrad.watch() as watching:
        for _ in range(5):
            places.leave(scorer(torch.ones(1)).detach().numpy())
            loss = squared(value(torch.from_numpy(places.array())) - 1.0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if not places.met:
        pytest.skip("this allocator did not use the memory again")
    assert [finding.code for finding in watching.report.loud] == ["WG107"]


def test_parameters_used_before_the_module_is_one() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self, inner: torch.nn.Linear) -> None:
            scale = inner.weight.abs().max().item()
            super().__init__()
            self.inner, self.scale = inner, scale

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.inner(x) / self.scale
            return out

    with whygrad.watch() as watching:
        inner = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
        net = Scaled(inner)
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).pow(2).mean().backward()
            optimizer.step()
    assert watching.report.limits == []
    assert watching.report.findings == []

"""Switches gradients off and on in every way: contexts, decorators, plain calls, generators, left open on purpose."""
import contextlib

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
states = []


def note(label=""):
    states.append(f"{label}{int(torch.is_grad_enabled())}{int(torch.is_inference_mode_enabled())}")


@torch.no_grad()
def batches():
    for _ in range(3):
        note("g")
        yield net(torch.ones(2, 3))
        note("g")


@torch.inference_mode()
def act(x):
    note("a")
    return net(x)


@torch.no_grad
def greedy(x):
    note("n")
    return net(x)


for update in range(8):
    for out in batches():
        note()
    half_way = batches()
    next(half_way)
    note()
    half_way.close()
    act(torch.ones(3))
    greedy(torch.ones(3))
    torch.set_grad_enabled(False)
    note()
    with torch.enable_grad():
        note()
        with torch.set_grad_enabled(update % 2 == 0):
            note()
    torch.set_grad_enabled(True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        note()
        with contextlib.suppress(ValueError), torch.enable_grad():
            raise ValueError
        note()
    guard = torch.no_grad()
    with guard:
        with guard:
            note()
        note()
    note()
    with torch.autograd.grad_mode.set_multithreading_enabled(False), torch.inference_mode(False):
        net.zero_grad()
        net(torch.randn(2, 3)).sum().backward()
    print(update, *states, guard.prev, torch.no_grad().clone().prev)
    states.clear()


def holding():
    with torch.no_grad():
        yield net(torch.ones(3)).requires_grad
        yield net(torch.ones(3)).requires_grad


held = holding()
print(next(held), torch.is_grad_enabled(), net(torch.ones(3)).requires_grad, next(held), list(held), torch.is_grad_enabled())
states.clear()
left_open = torch.no_grad()
left_open.__enter__()
note()
print(states, net.weight.grad.sum().item())

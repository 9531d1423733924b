import math

from whygrad.learn.judging import close, said


def ask(draw):
    return {
        "new": [-0.2, -2.0, -0.3, -2.2, -0.9, -1.1],
        "old": [-1.0, -0.7, -1.2, -0.8, -1.0, -1.0],
        "advantages": [a * s for a, s in zip(draw.numbers(6, 0.5, 2), (1, -1, -1, 1, 1, -1), strict=True)],
        "clip": draw.number(0.2, 0.3),
    }


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable

    new, old = torch.tensor(asked["new"], requires_grad=True), torch.tensor(asked["old"])
    loss = differentiable(code.ppo_loss(new, old, torch.tensor(asked["advantages"]), asked["clip"]), new)
    loss.backward()
    return {"loss": loss, "gradient": new.grad}


def judge(asked, seen, right):
    ratios = [math.exp(n - o) for n, o in zip(asked["new"], asked["old"], strict=True)]
    low, high = 1 - asked["clip"], 1 + asked["clip"]
    pairs = [(r * a, min(max(r, low), high) * a) for r, a in zip(ratios, asked["advantages"], strict=True)]
    loss = seen["loss"]
    if close(loss, -right["loss"]):
        yield "the sign is wrong: PPO raises the surrogate, so the loss is minus its mean"
    if close(abs(loss), abs(sum(max(p) for p in pairs) / 6)):
        yield "the larger of the two is taken: PPO takes the smaller, which never promises too much"
    if close(abs(loss), abs(sum(p[0] for p in pairs) / 6)):
        yield "nothing is clipped: the ratio may run away from 1 as far as it likes"
    if close(abs(loss), abs(sum(p[1] for p in pairs) / 6)):
        yield "only the clipped term is there: an action that became too unlikely then gets no gradient back; take the minimum of both"
    plain = [n / o for n, o in zip(asked["new"], asked["old"], strict=True)]
    if close(
        loss, -sum(min(r * a, min(max(r, low), high) * a) for r, a in zip(plain, asked["advantages"], strict=True)) / 6
    ):
        yield "the log-probabilities are divided: the ratio of probabilities is exp(new - old)"
    if not close(loss, right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(loss)}"
    if not close(seen["gradient"], right["gradient"]):
        yield "the loss is right and its gradient is not: part of the ratio has no history"

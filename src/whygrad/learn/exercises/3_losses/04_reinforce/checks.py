import math

from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "actions": draw.wholes(6, 0, 1), "returns": draw.numbers(6, 0.5, 3)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, network

    policy, states = network(3, 2), torch.tensor(asked["states"])
    actions, returns = torch.tensor(asked["actions"]), torch.tensor(asked["returns"])
    loss = differentiable(code.reinforce_loss(policy, states, actions, returns), policy)
    return {"loss": loss, "log_probs": torch.log_softmax(policy(states), 1)}


def judge(asked, seen, right):
    taken = [row[a] for row, a in zip(seen["log_probs"], asked["actions"], strict=True)]
    returns, loss, wanted = asked["returns"], seen["loss"], right["loss"]
    n = len(returns)
    if close(loss, -wanted):
        yield "the sign is wrong: descent on this loss makes good actions less likely; put a minus in front"
    if close(abs(loss), sum(math.exp(t) * r for t, r in zip(taken, returns, strict=True)) / n):
        yield "this is probability times return; the policy gradient needs the logarithm of the probability"
    if close(abs(loss), abs(sum(t * r for t in taken for r in returns)) / n**2) and not close(loss, wanted):
        yield "(6, 1) times (6,) is (6, 6): every action is rewarded with every return; squeeze(1)"
    if close(loss, -sum(taken) / n):
        yield "the returns play no part: all actions become more likely, good or bad"
    if not close(loss, wanted):
        yield f"the loss should be {said(wanted)}, and is {said(loss)}"

from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "actions": draw.wholes(6, 0, 2), "target": draw.numbers(6)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, flow, network

    q_net, states = network(3, 3), torch.tensor(asked["states"])
    actions, target = torch.tensor(asked["actions"]), torch.tensor(asked["target"])
    loss = differentiable(code.dqn_loss(q_net, states, actions, target), q_net)
    values = q_net(states).detach()
    return {"loss": loss, "values": values, **flow(loss, q_net=q_net)}


def judge(asked, seen, right):
    values, target = seen["values"], asked["target"]
    best = sum((max(v) - t) ** 2 for v, t in zip(values, target, strict=True)) / len(target)
    taken = [v[a] for v, a in zip(values, asked["actions"], strict=True)]
    every = sum((a - b) ** 2 for a in taken for b in target) / len(target) ** 2
    if close(seen["loss"], every):
        yield f"(6, 1) against (6,) becomes (6, 6), every value against every target: {said(seen['loss'])} instead of {said(right['loss'])}; squeeze(1)"
    if close(seen["loss"], best):
        yield "the highest values are compared, whatever was done; learn about the actions that were taken: gather"
    if close(seen["loss"], 6 * right["loss"]):
        yield "the squared errors are added up: take their mean"
    if not close(seen["loss"], right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(seen['loss'])}"
    if not close(seen["q_net"], right["q_net"]):
        yield "the loss is right and its gradient is not: part of it does not come from q_net(states)"

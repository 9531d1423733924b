from whygrad.learn.judging import close, said


def ask(draw):
    return {
        "states": draw.table(6, 3),
        "rewards": draw.numbers(6),
        "done": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
        "gamma": draw.number(0.7, 0.95),
    }


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import network, tensor

    target_net, states, done = network(3, 2), torch.tensor(asked["states"]), torch.tensor(asked["done"])
    found = code.td_target(target_net, torch.tensor(asked["rewards"]), states, done, asked["gamma"])
    tensor(found, "the target", (6,))
    return {"target": found, "attached": found.requires_grad, "next": target_net(states)}


def raised(error):
    if error.kind == "TypeError":
        return "numbers were combined with what is no tensor: max(1) returns values and their places; take .values"
    return ""


def judge(asked, seen, right):
    q, found, wanted = asked, seen["target"], right["target"]
    rows = list(zip(q["rewards"], q["done"], seen["next"], strict=True))
    if close(found, [r + q["gamma"] * max(n) for r, _, n in rows]):
        yield "values are added after the end of an episode too: multiply them by (1 - done)"
    if close(found, [r + q["gamma"] * d * max(n) for r, d, n in rows]):
        yield "the mask is the wrong way round: done is 1 where nothing follows, so multiply by (1 - done)"
    if close(found, [r + (1 - d) * max(n) for r, d, n in rows]):
        yield "gamma is missing: what follows is worth gamma times its value"
    if close(found, [r + q["gamma"] * (1 - d) * sum(n) / len(n) for r, d, n in rows]):
        yield "this is the average over the next actions; Q-learning takes the highest"
    if not close(found, wanted):
        yield f"the targets should be {said(wanted)}, and are {said(found)}"
    if seen["attached"]:
        yield "the target carries gradient: compute it under torch.no_grad(), or detach it, or target_net is trained too"

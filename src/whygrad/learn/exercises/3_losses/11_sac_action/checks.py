from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3, -1, 1)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, network, tensor

    actor, states = network(3, 4), torch.tensor(asked["states"])
    torch.manual_seed(asked["seed"])
    action, log_prob = code.act(actor, states)
    tensor(action, "the action", (6, 2))
    tensor(log_prob, "the log-probability", (6,))
    differentiable(action.sum(), actor, what="the sum of your actions")
    mean, log_std = actor(states).detach().chunk(2, 1)
    normal, draw = (
        torch.distributions.Normal(mean, log_std.exp()),
        torch.atanh(action.detach().clamp(-1 + 1e-6, 1 - 1e-6)),
    )
    plain = normal.log_prob(draw)
    return {
        "action": action,
        "log_prob": log_prob,
        "wanted": (plain - torch.log(1 - action.detach() ** 2 + 1e-6)).sum(1),
        "uncorrected": plain.sum(1),
        "added": (plain + torch.log(1 - action.detach() ** 2 + 1e-6)).sum(1),
        "of the action": (normal.log_prob(action.detach()) - torch.log(1 - action.detach() ** 2 + 1e-6)).sum(1),
    }


def judge(asked, seen, right):
    found = seen["log_prob"]
    if close(found, seen["uncorrected"], 1e-2):
        yield "this is the log-probability of the draw before tanh: subtract log(1 - action²)"
    if close(found, seen["added"], 1e-2):
        yield "the correction has the wrong sign: tanh squeezes the space, which makes the density larger; subtract it"
    if close(found, seen["of the action"], 1e-2):
        yield "log_prob is asked about the squashed action; the normal distribution knows the draw"
    if not close(found, seen["wanted"], 1e-2):
        yield f"the log-probabilities should be {said(seen['wanted'])}, and are {said(found)}"

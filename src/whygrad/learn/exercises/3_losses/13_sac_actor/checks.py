from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "alpha": draw.number(0.2, 0.5)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, flow, network

    actor, critics = network(3, 2), [network(4, 1).requires_grad_(False) for _ in range(2)]
    states = torch.tensor(asked["states"])
    torch.manual_seed(asked["seed"])
    mean, log_std = actor(states).chunk(2, 1)
    normal = torch.distributions.Normal(mean, log_std.exp())
    action = normal.rsample()
    log_probs = normal.log_prob(action).sum(1)
    loss = differentiable(code.actor_loss(critics, states, action, log_probs, asked["alpha"]), actor)
    alone = code.actor_loss(critics, states, action, torch.zeros(6), asked["alpha"])
    differentiable(alone, actor, what="what the critics say in your loss")
    a, b = (c(torch.cat([states, action], 1)).squeeze(1) for c in critics)
    entropy = asked["alpha"] * log_probs
    return {
        "loss": loss,
        **flow(loss, actor=actor),
        "sign": (torch.minimum(a, b) - entropy).mean(),
        "both added": (entropy + torch.minimum(a, b)).mean(),
        "larger": (entropy - torch.maximum(a, b)).mean(),
        "no entropy": -torch.minimum(a, b).mean(),
    }


def judge(asked, seen, right):
    said_of = {
        "sign": "the sign is wrong: descent on this loss looks for the worst actions",
        "both added": "the value is added: the loss should be small where the critics' value is high",
        "larger": "the larger of both critics is used: the actor then finds what one of them overestimates",
        "no entropy": "alpha · log-probability is missing: nothing keeps the policy open",
    }
    for variant, message in said_of.items():
        if close(seen["loss"], seen[variant]):
            yield message
    if not close(seen["loss"], right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(seen['loss'])}"
    if not close(seen["actor"], right["actor"]):
        yield "the loss is right and its gradient is not: log_probs or one of the critics does not pass it on"

from whygrad.learn.judging import close, said


def ask(draw):
    return {"log_alpha": draw.number(-2, -0.5), "log_probs": draw.numbers(6, 1, 3), "target": -1.0}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable

    log_alpha = torch.tensor(asked["log_alpha"], requires_grad=True)
    policy = torch.tensor(asked["log_probs"], requires_grad=True)
    loss = differentiable(code.temperature_loss(log_alpha, policy * 1.0, asked["target"]), log_alpha)
    loss.backward()
    return {"loss": loss, "gradient": log_alpha.grad, "policy": policy.grad}


def judge(asked, seen, right):
    n = len(asked["log_probs"])
    mean = sum(asked["log_probs"]) / n
    if close(seen["loss"], -right["loss"]):
        yield "the sign is wrong: a policy that is too sure would make alpha smaller, and surer still"
    if close(seen["loss"], -asked["log_alpha"] * (mean - asked["target"])):
        yield "the target is subtracted: entropy is minus the log-probability, so what is missing is log-probability + target"
    if close(seen["loss"], -asked["log_alpha"] * mean):
        yield "target_entropy is not used: alpha would fall or grow for ever"
    if not close(seen["loss"], right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(seen['loss'])}"
    if seen["policy"] is not None:
        yield "the temperature's loss trains the policy too: detach the log-probabilities"
    if not close(seen["gradient"], right["gradient"]):
        yield f"the gradient of log_alpha should be {said(right['gradient'])}, and is {said(seen['gradient'])}"

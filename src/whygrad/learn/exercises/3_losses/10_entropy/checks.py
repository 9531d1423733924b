from whygrad.learn.judging import close, said


def ask(draw):
    return {"logits": draw.table(5, 3), "weight": draw.number(0.2, 0.6), "loss": draw.number()}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable

    logits, base = torch.tensor(asked["logits"], requires_grad=True), torch.tensor(asked["loss"], requires_grad=True)
    loss = differentiable(code.with_bonus(base, logits, asked["weight"]), logits, base)
    loss.backward()
    log_probs = torch.log_softmax(logits, 1).detach()
    entropy = -(log_probs.exp() * log_probs).sum(1)
    wrong = torch.log_softmax(logits, 0).detach()
    return {
        "loss": loss,
        "gradient": logits.grad,
        "entropy": entropy.mean(),
        "total": entropy.sum(),
        "over the batch": -(wrong.exp() * wrong).sum(1).mean(),
    }


def judge(asked, seen, right):
    base, weight, loss = asked["loss"], asked["weight"], seen["loss"]
    if close(loss, base + weight * seen["entropy"]):
        yield "the entropy is added to the loss: descent then makes the policy surer; a bonus is subtracted"
    if close(loss, base - seen["entropy"]):
        yield "weight is not used: the entropy counts in full"
    if close(loss, base - weight * seen["total"]):
        yield "the entropies of all rows are added up: take their mean, or the bonus grows with the batch"
    if close(loss, base - weight * seen["over the batch"]):
        yield "softmax runs over the batch: probabilities add up to one per row, dim=1"
    if not close(loss, right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(loss)}; the mean entropy here is {said(seen['entropy'])}"
    if not close(seen["gradient"], right["gradient"]):
        yield "the loss is right and its gradient is not: a part of the entropy is detached"

from whygrad.learn.judging import close, said


def ask(draw):
    return {"tau": draw.number(0.2, 0.4) / 4}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import weights

    torch.manual_seed(asked["seed"])
    q_net, target_net = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    before, online = weights(target_net), weights(q_net)
    code.follow(q_net, target_net, asked["tau"])
    leaves = all(p.is_leaf for p in target_net.parameters())
    return {"before": before, "online": online, "after": weights(target_net), "left": weights(q_net), "leaves": leaves}


def raised(error):
    if "in-place" in error.text:
        return "a leaf that asks for gradient may be changed in place under torch.no_grad() only"
    return ""


def judge(asked, seen, right):
    tau, before, online, after = asked["tau"], seen["before"], seen["online"], seen["after"]
    if not close(seen["left"], online, 1e-6):
        yield "q_net is changed; only target_net should move"
    if close(after, before, 1e-6):
        yield "target_net has not moved: `old = ...` gives a name to a new tensor; change old in place (mul_, add_, lerp_, copy_)"
    if close(after, online, 1e-6):
        yield "target_net is a full copy of q_net now: it should go only the share tau of the way"
    if close(after, [tau * o + (1 - tau) * n for o, n in zip(before, online, strict=True)]):
        yield f"the two shares are exchanged: tau = {said(tau)} belongs to q_net, the rest to target_net"
    if not close(after, right["after"]):
        yield f"the first weight should go from {said(before[0])} to {said(right['after'][0])}, and is {said(after[0])}"
    if not seen["leaves"]:
        yield "target_net's weights are no leaves any more: the move was recorded; put it under torch.no_grad()"

from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "most": draw.number(0.2, 0.6)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import WrongError, network, weights

    net = network(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = []
    for scale in (50.0, 0.001):
        loss = scale * (net(torch.tensor(asked["states"])) - 3).pow(2).mean()
        before = torch.tensor(weights(net))
        found = code.step(net, optimizer, loss, asked["most"])
        if not isinstance(found, tuple) or not all(isinstance(n, float) for n in found):
            raise WrongError("step() should return two plain numbers: the norm before and the norm after clipping")
        out.append([*found, (torch.tensor(weights(net)) - before).norm() / 0.1])
    return {"large": out[0], "small": out[1]}


def raised(error):
    if "NoneType" in error.text:
        return "a gradient is None: the norm is asked for before backward() has filled any"
    return ""


def judge(asked, seen, right):
    before, after, moved = seen["large"]
    most = asked["most"]
    if close(moved, right["large"][0], 1e-2) and not close(after, before):
        yield "the weights moved by the unclipped gradient: clipping comes after step(), too late"
    if close(moved, right["large"][0], 1e-2):
        yield f"nothing was clipped: the gradient's norm is {said(moved)}, and it should be at most {most}"
    if not close(moved, right["large"][2], 1e-2):
        yield f"the step should be as long as a gradient of norm {most}, and is as long as one of {said(moved)}: clip the norm of all gradients together, once"
    if close(before, right["large"][1]):
        yield "both numbers are the norm after clipping: measure the first before"
    if close(after, before):
        yield "both numbers are the norm before clipping: clip_grad_norm_ returns that one; measure again for the second"
    if not close(seen["small"][:2], right["small"][:2], 1e-2):
        yield f"a gradient below the limit stays as it is: {said(right['small'][:2])} is expected, {said(seen['small'][:2])} was returned"
    if not close([before, after], right["large"][:2], 1e-2):
        yield f"the norms should be {said(right['large'][:2])}, and are {said([before, after])}"

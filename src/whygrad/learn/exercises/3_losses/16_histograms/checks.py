from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "most": draw.number(0.2, 0.6), "step": draw.whole(3, 90)}


def observe(code, asked):
    import math

    import torch

    from whygrad.learn.seeing import WrongError, network

    written, steps, given = {}, [], set()

    class Writer:
        def add_histogram(self, tag, values, global_step=None):
            if values is None:
                raise WrongError(
                    f"add_histogram({tag!r}) was given None: there is no gradient yet; write it after backward()"
                )
            given.add(id(values))
            written[tag] = torch.as_tensor(values).detach().flatten().tolist()
            steps.append(global_step)

    net = network(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss = 50 * (net(torch.tensor(asked["states"])) - 3).pow(2).mean()
    code.train_step(net, optimizer, loss, asked["most"], Writer(), asked["step"])
    out = {"tags": sorted(written), "steps": sorted(set(map(str, steps)))}
    for kind in ("raw", "clipped"):
        out[kind] = math.sqrt(sum(n * n for tag, row in written.items() if tag.startswith(f"{kind}/") for n in row))
    out["weights"] = any(id(parameter) in given for parameter in net.parameters())
    return out


def judge(asked, seen, right):
    if not seen["tags"]:
        yield "nothing was written: call writer.add_histogram for every parameter"
    if seen["weights"]:
        yield "these are the weights: the gradient of a parameter is parameter.grad"
    missing = sorted(set(right["tags"]) - set(seen["tags"]))
    if missing:
        yield f"{missing[0]!r} is missing; written were {', '.join(seen['tags'])}"
    if seen["steps"] != right["steps"]:
        yield f"the histograms should belong to step {right['steps'][0]}, and belong to {', '.join(seen['steps'])}: pass step on"
    if close(seen["raw"], seen["clipped"]) and close(seen["raw"], right["clipped"]):
        yield "raw and clipped are the same, both clipped: write the raw ones before clip_grad_norm_"
    if close(seen["raw"], seen["clipped"]):
        yield "raw and clipped are the same, both unclipped: write the clipped ones after clip_grad_norm_"
    if not close([seen["raw"], seen["clipped"]], [right["raw"], right["clipped"]], 1e-2):
        yield f"the norms of the raw and clipped gradients should be {said([right['raw'], right['clipped']])}, and are {said([seen['raw'], seen['clipped']])}"

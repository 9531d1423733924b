from whygrad.learn.judging import close


def ask(draw):
    return {"states": draw.table(10, 4), "target": draw.table(10, 2)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import WrongError, tensor

    net = code.build()
    if not isinstance(net, torch.nn.Sequential):
        raise WrongError(f"build() should return an nn.Sequential, and returns a {type(net).__name__}")
    states, target = torch.tensor(asked["states"]), torch.tensor(asked["target"])
    tensor(net(states), "the network's output for 10 states", (10, 2))
    found = code.first_gradient(net, states, target)
    if found is None:
        raise WrongError(
            "the first layer's gradient is None: the loss does not come from net(states), or nobody went back"
        )
    tensor(found, "the first layer's gradient", net[0].weight.shape)
    reference = code.build()
    reference.load_state_dict(net.state_dict())
    torch.nn.functional.mse_loss(reference(states), target).backward()
    with torch.no_grad():
        bend = net(states[:1] + states[1:2]) + net(torch.zeros(1, 4)) - net(states[:1]) - net(states[1:2])
    return {
        "sizes": [list(p.shape) for p in net.parameters()],
        "linear": bool(bend.abs().max() < 1e-5),
        "gradient": found,
        "wanted": reference[0].weight.grad,
    }


def raised(error):
    if "shapes cannot be multiplied" in error.text:
        return "the layers do not fit together: 4 numbers go in, 64 come out and go into the next, 2 come out"
    if "does not require grad" in error.text:
        return "the loss has no history: the network's output was detached or computed without gradient"
    return ""


def judge(asked, seen, right):
    if seen["sizes"] != right["sizes"]:
        yield f"the parameters have the shapes {seen['sizes']}; a network 4-64-2 has {right['sizes']}"
    if seen["linear"]:
        yield "there is nothing between the two layers: without a ReLU they are one linear map"
    if not any(any(row) for row in seen["gradient"]):
        yield "the first layer's gradient is zero everywhere: nothing of it reaches the loss"
    if close(seen["gradient"], [[20 * n for n in row] for row in seen["wanted"]]):
        yield "the gradient is 20 times too large: the squared errors are added up; mean() divides by the 20 numbers"
    if not close(seen["gradient"], seen["wanted"]):
        yield "the gradient is not that of the mean squared error between net(states) and target"

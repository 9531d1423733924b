from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "targets": draw.table(6, 1)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import WrongError, weights

    torch.manual_seed(asked["seed"])
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    states, targets = torch.tensor(asked["states"]), torch.tensor(asked["targets"])
    out, losses = [weights(net)], []
    for _ in range(3):
        losses.append(code.train_step(net, optimizer, states, targets))
        out.append(weights(net))
    if not isinstance(losses[0], float):
        raise WrongError(
            f"train_step() should return a plain number, loss.item(), and returns a {type(losses[0]).__name__}"
        )
    return {"weights": out, "losses": losses}


def judge(asked, seen, right):
    w, wanted = seen["weights"], right["weights"]
    if close(w[3], w[0]):
        yield "three steps, and the weights are where they were: the gradient is not there when step() comes; is it cleared between backward() and step(), or step() missing?"
    if close(w[1], w[0]) and close(w[2], wanted[1]):
        yield "the first step does nothing and the second does what the first should have: step() comes before backward()"
    if close(w[1], wanted[1]) and not close(w[2], wanted[2]):
        yield "the first step is right and the second too long: old gradients were not cleared, and count again"
    if not close(w[1], wanted[1]):
        yield f"after one step the weights should be {said(wanted[1])}, and are {said(w[1])}"
    if not close(seen["losses"], right["losses"]):
        yield f"the losses of three steps are {said(right['losses'])}, and yours are {said(seen['losses'])}"

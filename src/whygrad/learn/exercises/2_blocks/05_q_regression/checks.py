from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(16, 4), "targets": draw.table(16, 2)}


def observe(code, asked):
    import contextlib
    import io

    import torch

    from whygrad.learn.seeing import WrongError, weights

    torch.manual_seed(asked["seed"])
    net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    before = weights(net)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        losses = code.train(net, torch.tensor(asked["states"]), torch.tensor(asked["targets"]))
    if not isinstance(losses, list):
        raise WrongError("train() should return a list of numbers")
    kept = next((type(n).__name__ for n in losses if not isinstance(n, float)), "")
    moved = weights(net) != before
    return {"losses": losses, "lines": len(printed.getvalue().splitlines()), "kept": kept, "moved": moved}


def judge(asked, seen, right):
    if seen["kept"]:
        yield f"the list holds a {seen['kept']}, which keeps its whole graph alive; remember loss.item(), a plain number"
    if not seen["moved"]:
        yield "the network is what it was: loss.backward() only fills gradients; optimizer.step() moves the weights"
    if "WG301" in seen.codes():
        yield "gradients of all the steps so far add up: optimizer.zero_grad() is missing in the loop"
    if len(seen["losses"]) != 5:
        yield f"the list should hold 5 losses (steps 0, 20, 40, 60, 80), and holds {len(seen['losses'])}"
    if seen["lines"] < 5:
        yield f"{seen['lines']} lines were printed; print the loss every 20 steps"
    if not seen["losses"][-1] < 0.8 * seen["losses"][0]:
        yield f"the loss does not go down: {said(seen['losses'])}"
    if not close(seen["losses"], right["losses"], 1e-2):
        yield f"the losses should be {said(right['losses'])}, and are {said(seen['losses'])}"
    yield from seen.engine()

from whygrad.learn.judging import close, said


def ask(draw):
    return {"x": draw.number(0.5, 3)}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    found, left = code.slope(asked["x"])
    if isinstance(found, tuple):
        raise WrongError("torch.autograd.grad returns a tuple, one entry per input; take its first entry")
    if found is None:
        raise WrongError("the derivative is None: backward() returns nothing; torch.autograd.grad returns the gradient")
    return {"slope": tensor(found, "the derivative", ()), "left": left}


def judge(asked, seen, right):
    x, found = asked["x"], seen["slope"]
    if seen["left"] is not None:
        yield "leaf.grad is filled: backward() was called; torch.autograd.grad leaves the leaf alone"
    if close(found, 3 * x**2):
        yield f"{said(found)} is the derivative of x³ alone; y = x³ + 2x has 2 more"
    if close(found, 2 * x + 2):
        yield f"{said(found)} is the derivative of x² + 2x; the task has x³"
    if not close(found, right["slope"]):
        yield f"at {x} the derivative 3x² + 2 is {said(right['slope'])}, and yours is {said(found)}"

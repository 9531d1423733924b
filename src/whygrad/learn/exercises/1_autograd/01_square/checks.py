from whygrad.learn.judging import close, said


def ask(draw):
    return {"x": draw.number()}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    found = code.slope(asked["x"])
    if found is None:
        raise WrongError("leaf.grad is None: it is filled by backward(), and nobody called y.backward()")
    return {"slope": tensor(found, "what slope() returns", ()), "attached": found.grad_fn is not None}


def judge(asked, seen, right):
    x = asked["x"]
    if seen["attached"] or close(seen["slope"], x * x):
        yield f"slope({x}) gave {said(seen['slope'])}, which is x² itself; its derivative is in leaf.grad after backward()"
    if close(seen["slope"], 2.0):
        yield f"slope({x}) gave 2: that is the slope of 2x; x² is leaf**2 or leaf * leaf"
    if not close(seen["slope"], right["slope"]):
        yield f"slope({x}) gave {said(seen['slope'])}; the derivative of x² is 2x, so it should be {said(2 * x)}"

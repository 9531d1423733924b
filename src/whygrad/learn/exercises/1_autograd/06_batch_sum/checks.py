from whygrad.learn.judging import close, said


def ask(draw):
    return {"w": draw.number(), "xs": draw.numbers(5, 0.5, 3)}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError

    found = code.gradients(asked["w"], asked["xs"])
    if not isinstance(found, tuple) or len(found) != 2:
        raise WrongError("gradients() should return two things: weight.grad and losses.grad")
    return {"weight": found[0], "losses": found[1]}


def raised(error):
    if "scalar" in error.text:
        return "losses has one number per sample, and backward() starts from one number: add them up first"
    return ""


def judge(asked, seen, right):
    n = len(asked["xs"])
    if seen["weight"] is None:
        yield "weight.grad is None: no backward() has run from a value that depends on weight"
    if close(seen["weight"], right["weight"] / n):
        yield f"you have a {n}th of the sum: mean() divides by the batch; the task wants the losses added up"
    if close(seen["losses"], [0.0] * (n - 1) + [1.0]):
        yield "only the last loss was differentiated: its gradient is 1 and that of the others 0; add all of them up"
    if seen["losses"] is None:
        yield "losses.grad is None: the sum was not made from `losses`, whose gradient was to be kept"
    if not close(seen["losses"], [1.0] * n):
        yield f"the gradient of a sum by its summands is ones, and yours is {said(seen['losses'])}"
    if not close(seen["weight"], right["weight"]):
        yield f"the gradient of w is the sum of x², {said(right['weight'])}, and yours is {said(seen['weight'])}"

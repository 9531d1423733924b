from whygrad.learn.judging import close, said


def ask(draw):
    return {"xs": draw.numbers(3, 0.5, 2), "v": draw.numbers(3, 2, 9)}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    found = code.weighted(asked["xs"], asked["v"])
    if found is None:
        raise WrongError("x.grad is None: backward() was not called, or not from y")
    return {"gradient": tensor(found, "the gradient", (3,))}


def raised(error):
    if "scalar" in error.text:
        return "y has three numbers: say with gradient= how much each of them counts"
    if "Mismatch in shape" in error.text:
        return "gradient= must have the shape of y: one weight for each number in y"
    if error.kind in ("TypeError", "AttributeError"):
        return "gradient= takes a tensor, and v is a list: torch.tensor(v)"
    return ""


def judge(asked, seen, right):
    plain = [3 * x**2 for x in asked["xs"]]
    found, wanted = seen["gradient"], right["gradient"]
    if close(found, plain):
        yield "this is the gradient with all weights 1: v plays no part in it"
    if close(found, [a * b for a, b in zip(wanted, asked["v"], strict=True)]):
        yield "the weights count twice: y was multiplied by v, and gradient=v does it again"
    if not close(found, wanted):
        yield f"each entry should be v · 3x², {said(wanted)}, and yours are {said(found)}"

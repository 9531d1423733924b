from whygrad.learn.judging import close, said


def ask(draw):
    return {"numbers": draw.numbers(3)}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    found = code.gradient(asked["numbers"])
    if found is None:
        raise WrongError("x.grad is None: y does not come from x any more, so backward() did not reach it")
    return {"gradient": tensor(found, "what gradient() returns", (3,))}


def raised(error):
    if "scalar" in error.text:
        return "y has three numbers, and backward() wants one to start from: a dot product adds the products up"
    return ""


def judge(asked, seen, right):
    found, wanted = seen["gradient"], right["gradient"]
    if close(found, [1.0, 1.0, 1.0]):
        yield "the gradient is all ones: that is what a plain sum gives; x · x multiplies each number by itself first"
    if close(found, [n / 3 for n in wanted]):
        yield "every entry is a third of what it should be: mean() divides by the three numbers, a dot product only adds"
    if close(found, [n / 2 for n in wanted]):
        yield f"you have x = {said(found)} itself, half of what it should be: only one of the two factors has a gradient"
    if not close(found, wanted):
        yield f"for {said(asked['numbers'])} the gradient should be 2x = {said(wanted)}, and is {said(found)}"

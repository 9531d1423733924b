from whygrad.learn.judging import close, said


def ask(draw):
    w, x = draw.numbers(2, 0.5, 2)
    return {"w": w, "x": x}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError

    found = code.gradients(asked["w"], asked["x"])
    if not isinstance(found, tuple) or len(found) != 2:
        raise WrongError("gradients() should return two gradients: that of weight and that of h")
    return {"weight": found[0], "h": found[1]}


def raised(error):
    if "retain_grad" in error.text:
        return "h has no history here; retain_grad() is for values that come from a leaf with requires_grad"
    return ""


def judge(asked, seen, right):
    if seen["weight"] is None:
        yield "weight.grad is None: h was cut off from weight, so the gradient ends at h; h must stay in the graph"
    if seen["h"] is None:
        yield "h.grad is None: it must be asked to keep its gradient before backward() comes by; see retain_grad()"
    if close(seen["h"], right["weight"]):
        yield "the second number is the gradient of weight: h is one step nearer to y, its gradient is 3h²"
    if not close([seen["weight"], seen["h"]], [right["weight"], right["h"]]):
        yield f"the gradients are 3h²·x and 3h², {said([right['weight'], right['h']])}; yours are {said([seen['weight'], seen['h']])}"

from whygrad.learn.judging import close, said


def ask(draw):
    return {"features": draw.table(4, 3), "weights": [1 + draw.whole(0, 4), -1 - draw.whole(0, 4), 2]}


def observe(code, asked):
    from whygrad.learn.seeing import WrongError, tensor

    found, features = code.gradient(asked["features"], asked["weights"])
    if found is None:
        raise WrongError(
            "weights.grad is None: what backward() reached is another tensor than `weights`; a leaf is made in one go"
        )
    return {"gradient": tensor(found, "weights.grad", (3,)), "features": features}


def raised(error):
    if "does not require grad" in error.text:
        return "nothing that output was computed from asks for gradient: say requires_grad=True where weights is made"
    if "floating point" in error.text:
        return "whole numbers have no gradient: make weights with dtype=torch.float32"
    return ""


def judge(asked, seen, right):
    if seen["features"]:
        yield "features asks for gradient too: it is data, and nobody is going to change it"
    if not close(seen["gradient"], right["gradient"]):
        yield f"the gradient should be {said(right['gradient'])}, and is {said(seen['gradient'])}"

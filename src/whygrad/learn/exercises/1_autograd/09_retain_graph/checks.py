from whygrad.learn.judging import close, said


def ask(draw):
    w, x = draw.numbers(2, 0.5, 2.5)
    return {"w": w, "x": x}


def observe(code, asked):
    from whygrad.learn.seeing import tensor

    gradient, shared = code.both(asked["w"], asked["x"])
    tensor(gradient, "weight.grad", ())
    gradient = gradient.clone()
    try:
        tensor(shared, "shared").backward()
        freed = False
    except RuntimeError:
        freed = True
    return {"gradient": gradient, "freed": freed}


def raised(error):
    if "second time" in error.text:
        return "the first backward() freed the part that both losses share; tell it to retain_graph=True"
    return ""


def judge(asked, seen, right):
    whole, found = right["gradient"], seen["gradient"]
    if close(found, whole * 2 / 7):
        yield "only `one` has been differentiated; the gradient of `two` is to be added to it"
    if close(found, whole * 5 / 7):
        yield "only the gradient of `two` is there: somebody cleared, or never took, that of `one`"
    if not close(found, whole):
        yield f"the gradient of w from both is 14·w·x², {said(whole)}, and yours is {said(found)}"
    if not seen["freed"]:
        yield "the graph is still there after the second backward(): only the first needs retain_graph=True"

from whygrad.learn.judging import close, said


def ask(draw):
    w, b, x, y = draw.numbers(4)
    return {"w": w, "b": b, "x": x, "y": y + 4.0, "rate": draw.number(0.2, 0.5) / 10}


def observe(code, asked):
    from whygrad.learn.seeing import tensor

    q = asked
    w, b = code.step(q["w"], q["b"], q["x"], q["y"], q["rate"])
    tensor(w, "w", ())
    tensor(b, "b", ())
    return {"w": w, "b": b, "leaves": w.is_leaf and b.is_leaf and w.requires_grad and b.requires_grad}


def raised(error):
    if "in-place" in error.text:
        return "w and b are leaves that need gradient; change them in place under `with torch.no_grad():` only"
    return ""


def judge(asked, seen, right):
    q = asked
    error = q["w"] * q["x"] + q["b"] - q["y"]
    up = [q["w"] + q["rate"] * 2 * error * q["x"], q["b"] + q["rate"] * 2 * error]
    found = [seen["w"], seen["b"]]
    if close(found, [q["w"], q["b"]], 1e-5):
        yield "w and b are where they were: the step has no effect on the tensors that are returned"
    if close(found, up):
        yield "the step goes up: the gradient points to a larger error, so it is subtracted"
    half = [(a + b) / 2 for a, b in zip([right["w"], right["b"]], [q["w"], q["b"]], strict=True)]
    if close(found, half, 1e-4):
        yield "the step is half as long as it should be: the derivative of a square has a factor of 2"
    if close(seen["w"], right["w"]) and not close(seen["b"], right["b"]):
        yield f"w is right, b is not: it should go from {q['b']} to {said(right['b'])}"
    if not close(found, [right["w"], right["b"]]):
        yield f"after the step w, b should be {said([right['w'], right['b']])}, and are {said(found)}"
    if not seen["leaves"]:
        yield "w or b is no longer a leaf with requires_grad: `w = w - ...` makes a new tensor; use w -= ..."

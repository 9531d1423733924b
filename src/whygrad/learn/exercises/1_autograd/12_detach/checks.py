from whygrad.learn.judging import close, said


def ask(draw):
    w, x, reward, following = draw.numbers(4, 0.5, 3)
    return {"w": w, "x": x, "reward": reward, "next": following}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable

    weight = torch.tensor(asked["w"], requires_grad=True)
    loss = code.td_loss(weight, asked["x"], asked["reward"], asked["next"])
    differentiable(loss, weight)
    loss.backward()
    return {"loss": loss, "gradient": weight.grad}


def judge(asked, seen, right):
    q = asked
    target = q["reward"] + 0.9 * q["w"] * q["next"]
    error = q["w"] * q["x"] - target
    if close(seen["gradient"], 2 * error * (q["x"] - 0.9 * q["next"])):
        yield "the gradient also flows through target, which then moves to meet the prediction: detach it"
    if close(seen["gradient"], -2 * error * 0.9 * q["next"]):
        yield "the prediction is the constant here and the target is trained: detach the other side"
    if close(seen["loss"], (q["w"] * q["x"] - q["reward"]) ** 2):
        yield "target is the reward alone; 0.9 * weight * next_x is missing"
    if not close(seen["loss"], right["loss"]):
        yield f"the loss should be {said(right['loss'])}, and is {said(seen['loss'])}"
    if not close(seen["gradient"], right["gradient"]):
        yield f"the gradient should be 2 · (value - target) · x, {said(right['gradient'])}, and is {said(seen['gradient'])}"

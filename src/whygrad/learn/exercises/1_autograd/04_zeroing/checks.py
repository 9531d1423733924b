from itertools import accumulate

from whygrad.learn.judging import close, said


def ask(draw):
    return {"numbers": draw.numbers(4, 0.3, 3)}


def observe(code, asked):
    return {"slopes": code.slopes(list(asked["numbers"]))}


def raised(error):
    if error.kind == "AttributeError" and "NoneType" in error.text:
        return "leaf.grad is None here: before the first backward there is nothing to zero, and after clearing nothing to read"
    return ""


def judge(asked, seen, right):
    wanted, found = right["slopes"], seen["slopes"]
    if close(found, list(accumulate(wanted))):
        yield f"the gradients add up: {said(found)} are running sums of {said(wanted)}; clear leaf.grad in every round"
    if isinstance(found, list) and found and close(found, [0.0] * len(found)):
        yield "every slope is 0: the gradient was cleared after backward() and before it was read"
    if isinstance(found, list) and len(found) != len(wanted):
        yield f"slopes() should return {len(wanted)} numbers, one per x, and returns {len(found)}"
    if not close(found, wanted):
        yield f"the slopes of x² are 2x, {said(wanted)}, and yours are {said(found)}"

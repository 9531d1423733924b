from itertools import accumulate

from whygrad.learn.judging import close, said


def ask(draw):
    return {"rewards": draw.numbers(5, 0.3, 3), "gamma": draw.number(0.5, 0.9)}


def observe(code, asked):
    from whygrad.learn.seeing import tensor

    return {"returns": tensor(code.returns(list(asked["rewards"]), asked["gamma"]), "what returns() gives", (5,))}


def judge(asked, seen, right):
    r, g, found, wanted = asked["rewards"], asked["gamma"], seen["returns"], right["returns"]
    if close(found, wanted[::-1]):
        yield "the numbers are right and stand in the wrong order: the first return belongs to the first step"
    if close(found, list(accumulate(r[::-1]))[::-1]):
        yield "gamma is missing: every later reward counts in full"
    if close(found, list(accumulate(r, lambda a, b: b + g * a))):
        yield "this looks back: each step counts what came before it; go through the rewards from the end"
    if close(found, [wanted[0]] * 5):
        yield "every step gets the return of the whole episode; what came before a step is not its merit"
    if close(found, [*(g * n for n in wanted[1:]), 0.0]):
        yield "the reward of the step itself is missing: its action earned it"
    if not close(found, wanted):
        yield f"for rewards {said(r)} and gamma {g} the returns are {said(wanted)}, and yours are {said(found)}"

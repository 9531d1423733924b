from whygrad.learn.judging import said

DRAWS = 1200
TOLERANCE = 0.075
"""Five standard deviations of a share of one half in 1200 draws."""


def ask(draw):
    q = draw.numbers(4, 4, 9)
    return {"q": q if max(q) != q[-1] else q[::-1]}  # Who leaves the last action out should not leave out the best.


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import WrongError

    q = torch.tensor(asked["q"])
    first = code.choose(q, 0.0)
    if not isinstance(first, int):
        raise WrongError(
            f"an action should be a plain int, and is a {type(first).__name__}: int(...) or .item() makes one"
        )
    out = {"greedy": sorted({code.choose(q, 0.0) for _ in range(20)})}
    strange = set(out["greedy"])
    for epsilon in (0.5, 1.0):
        taken = [code.choose(q, epsilon) for _ in range(DRAWS)]
        out[str(epsilon)] = [taken.count(action) / DRAWS for action in range(len(q))]
        strange |= set(taken)
    return {**out, "strange": sorted(strange - set(range(len(q))))}


def judge(asked, seen, right):
    q = asked["q"]
    best, worst, n = q.index(max(q)), q.index(min(q)), len(q)
    greedy = seen["greedy"]
    if seen["strange"]:
        yield f"there are actions 0 to {n - 1}, and choose() returned {seen['strange'][0]}: the place of the best value is asked for, not the value"
    if len(greedy) > 1:
        yield "with epsilon 0 it should never be random, and it is: compare the draw the other way round"
    if greedy == [worst]:
        yield f"with epsilon 0 it takes action {worst}, which has the lowest value of {said(q)}"
    if greedy != [best]:
        yield f"with epsilon 0 it should take action {best}, the highest of {said(q)}, and takes {greedy[0]}"
    whole, half = seen["1.0"], seen["0.5"]
    if whole[best] < 0.05 or abs(half[best] - 0.5) < TOLERANCE / 2:
        yield f"the best action comes up {half[best]:.0%} of the time with epsilon 0.5, where 62% is right: a random draw may hit it too"
    if max(abs(share - 1 / n) for share in whole) > TOLERANCE:
        yield f"with epsilon 1 every action should come up 25% of the time; they come up {', '.join(f'{s:.0%}' for s in whole)}"
    if abs(half[best] - (0.5 + 0.5 / n)) > TOLERANCE:
        yield f"with epsilon 0.5 the best action should come up 62% of the time (half, and a quarter of the other half), and does {half[best]:.0%}"

from whygrad.learn.judging import close, said


def ask(draw):
    return {
        "rewards": draw.numbers(6),
        "values": draw.numbers(7),
        "done": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        "gamma": draw.number(0.8, 0.95),
        "lam": draw.number(0.5, 0.8),
    }


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import tensor

    rewards, values, done = (torch.tensor(asked[name]) for name in ("rewards", "values", "done"))
    return {"gae": tensor(code.gae(rewards, values, done, asked["gamma"], asked["lam"]), "what gae() returns", (6,))}


def variant(q, *, lam=None, values_masked=True, carried_masked=True, carry_gamma=True):
    out, following = [], 0.0
    lam = q["lam"] if lam is None else lam
    for t in reversed(range(6)):
        mask = 1 - q["done"][t]
        delta = q["rewards"][t] + q["gamma"] * (mask if values_masked else 1) * q["values"][t + 1] - q["values"][t]
        weight = lam * (q["gamma"] if carry_gamma else 1)
        following = delta + weight * (mask if carried_masked else 1) * following
        out.insert(0, following)
    return out


def judge(asked, seen, right):
    found, wanted = seen["gae"], right["gae"]
    if close(found, variant(asked, lam=0.0)):
        yield "these are the errors of single steps: lam and the following advantages are missing"
    if close(found, variant(asked, lam=1.0)):
        yield "lam is missing: this is the whole return minus the value, lam = 1"
    if close(found, variant(asked, carried_masked=False)):
        yield "the advantage runs on over the end of an episode: multiply what follows by (1 - done) as well"
    if close(found, variant(asked, values_masked=False)) or close(
        found, variant(asked, values_masked=False, carried_masked=False)
    ):
        yield "V(next) counts after the end of an episode: multiply it by (1 - done) in delta"
    if close(found, variant(asked, carry_gamma=False)):
        yield "what follows is weighted with lam alone: it is gamma · lam"
    if not close(found, wanted):
        yield f"the advantages should be {said(wanted)}, and are {said(found)}"

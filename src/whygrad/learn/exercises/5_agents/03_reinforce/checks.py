from whygrad.learn import curing
from whygrad.learn.judging import close, said


def ask(draw):
    return {**curing.ask(draw), "rewards": draw.numbers(6), "done": [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]}


def observe(code, asked):
    import gymnasium
    import torch

    from whygrad.learn.practice import Batch
    from whygrad.learn.seeing import tensor
    from whygrad.probe.registration import identity

    agent = code.Agent(gymnasium.make(identity("ActionReward")), curing.GAMMA, asked["seed"])
    zeros = torch.zeros(6, 2)
    batch = Batch(
        zeros, torch.zeros(6, dtype=torch.long), torch.tensor(asked["rewards"]), zeros, torch.tensor(asked["done"])
    )
    returns = tensor(agent.returns(batch), "what returns() gives", (6,))
    return {"returns": returns, "probes": curing.observed(code, asked, "WG904", "WG905", steps=480)}


def judge(asked, seen, right):
    rewards = asked["rewards"]
    over, following = [], 0.0
    for reward in reversed(rewards):
        following = reward + curing.GAMMA * following
        over.insert(0, following)
    if close(seen["returns"], over):
        yield "the returns reach over the end of an episode: multiply what follows by (1 - done)"
    if not close(seen["returns"], right["returns"]):
        yield f"for rewards {said(rewards)}, gamma 0.6 and ends after the third and fifth the returns are {said(right['returns'])}, and yours are {said(seen['returns'])}"
    yield from curing.judge(asked, seen.part("probes"))

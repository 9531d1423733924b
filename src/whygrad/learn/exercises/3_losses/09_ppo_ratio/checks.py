from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(8, 3), "actions": draw.wholes(8, 0, 1), "advantages": draw.numbers(8)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import WrongError, network, weights

    policy = network(3, 2)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.2)
    before = weights(policy)
    states, actions = torch.tensor(asked["states"]), torch.tensor(asked["actions"])
    found = code.update(policy, optimizer, states, actions, torch.tensor(asked["advantages"]), 4)
    if not isinstance(found, list) or len(found) != 4:
        raise WrongError("update() should return four numbers, one per epoch")
    return {"distances": found, "moved": weights(policy) != before}


def raised(error):
    if "second time" in error.text:
        return "the second epoch goes back through the first one's graph: `old` still has its history; detach it"
    return ""


def judge(asked, seen, right):
    found = seen["distances"]
    if max(found) < 1e-6 and not seen["moved"]:
        yield "the ratio has no gradient: new and old are both constants, so the policy does not move; only old is one"
    if max(found) < 1e-6:
        yield "the ratio is 1 in every epoch: old is computed again each time; it belongs before the loop"
    if found[0] > 1e-6:
        yield f"in the first epoch the ratio is off by {said(found[0])}: old and new must come from the same policy and actions, as exp(new - old)"
    if not close(found, right["distances"]):
        yield f"the distances from 1 should be {said(right['distances'])}, and are {said(found)}"
    yield from seen.engine()

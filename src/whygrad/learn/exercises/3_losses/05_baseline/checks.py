from whygrad.learn.judging import close, said


def ask(draw):
    return {"states": draw.table(6, 3), "actions": draw.wholes(6, 0, 1), "returns": draw.numbers(6, 1, 4)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, flow, network

    policy, critic, states = network(3, 2), network(3, 1), torch.tensor(asked["states"])
    actions, returns = torch.tensor(asked["actions"]), torch.tensor(asked["returns"])
    log_probs = torch.log_softmax(policy(states), 1).gather(1, actions.unsqueeze(1)).squeeze(1)
    policy_loss, value_loss = code.losses(log_probs, critic(states).squeeze(1), returns)
    differentiable(policy_loss, policy, what="the policy's loss")
    differentiable(value_loss, critic, what="the value network's loss")
    return {
        "policy": policy_loss,
        "value": value_loss,
        "by policy": flow(policy_loss, policy=policy, critic=critic),
        "by value": flow(value_loss, policy=policy, critic=critic),
        "plain": -(log_probs * returns).mean(),
        "added": -(log_probs * (returns + critic(states).squeeze(1))).mean(),
    }


def judge(asked, seen, right):
    if seen["by policy"]["critic"] is not None:
        yield "the policy's loss also pulls on the value network: detach values in the advantage"
    if close(seen["policy"], seen["plain"]):
        yield "the advantage is the return itself: subtract the expected value from it"
    if close(seen["policy"], seen["added"]):
        yield "the values are added: better than expected is returns minus values"
    if close(seen["policy"], -right["policy"]):
        yield "the policy's loss has the wrong sign: descent makes actions with a positive advantage less likely"
    if not close(seen["policy"], right["policy"]):
        yield f"the policy's loss should be {said(right['policy'])}, and is {said(seen['policy'])}"
    if not close(seen["value"], right["value"]):
        yield f"the value network's loss should be {said(right['value'])}, and is {said(seen['value'])}"
    yield from seen.engine()

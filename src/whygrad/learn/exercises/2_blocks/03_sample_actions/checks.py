from whygrad.learn.judging import close, said

ROWS = 600


def ask(draw):
    return {"states": draw.table(8, 4)}


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, tensor

    policy = torch.nn.Linear(4, 2)
    states = torch.tensor(asked["states"])
    actions, log_probs = code.act(policy, states)
    tensor(actions, "actions", (8,))
    tensor(log_probs, "log_probs", (8,))
    differentiable(log_probs.sum(), policy, what="the sum of your log-probabilities")
    with torch.no_grad():
        table = torch.log_softmax(policy(states), 1)
        policy.weight.zero_()
        policy.bias.copy_(torch.tensor([0.0, 1.0986]))
        many, _ = code.act(policy, torch.zeros(ROWS, 4))
    share = (many == 1).float().mean()
    return {"actions": actions, "log_probs": log_probs, "table": table, "share": share}


def raised(error):
    if "multinomial" in error.text or "probability tensor" in error.text:
        return "torch.multinomial takes probabilities: not negative, as logits and their logarithms are"
    return ""


def judge(asked, seen, right):
    wanted = [row[action] for row, action in zip(seen["table"], seen["actions"], strict=True)]
    others = [row[1 - action] for row, action in zip(seen["table"], seen["actions"], strict=True)]
    if seen["share"] in (0.0, 1.0):
        yield "the same action is taken every time: that is argmax; multinomial draws by the probabilities"
    if not 0.65 < seen["share"] < 0.85:
        yield f"an action with probability 75% is drawn {seen['share']:.0%} of the time: softmax must run over the actions, dim=1"
    if close([2.718281828**n for n in wanted], seen["log_probs"]):
        yield "these are probabilities: take their logarithm (log_softmax does both, and does not fail at 0)"
    if close(seen["log_probs"], others):
        yield "these are the log-probabilities of the actions that were not taken"
    if not close(seen["log_probs"], wanted):
        yield f"the log-probabilities of the drawn actions are {said(wanted)}, and yours are {said(seen['log_probs'])}"

from whygrad.learn.judging import close, said


def ask(draw):
    return {
        "states": draw.table(6, 3),
        "next_states": draw.table(6, 3),
        "actions": draw.table(6, 1),
        "next_actions": draw.table(6, 1),
        "log_probs": draw.numbers(6, 0.5, 3),
        "rewards": draw.numbers(6),
        "done": [0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "alpha": draw.number(0.2, 0.5),
        "gamma": draw.number(0.7, 0.95),
    }


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, flow, network

    critics, targets = [network(4, 1), network(4, 1)], [network(4, 1), network(4, 1)]
    names = ("states", "next_states", "actions", "rewards", "done")
    batch = {name: torch.tensor(asked[name]) for name in names}
    action, log_probs = torch.tensor(asked["next_actions"]), torch.tensor(asked["log_probs"])
    alphas = [asked["alpha"], 2 * asked["alpha"]]  # Of a single number two formulas may agree by chance.
    losses = [code.critic_loss(critics, targets, batch, action, log_probs, a, asked["gamma"]) for a in alphas]
    loss = losses[0]
    differentiable(loss, *critics)
    found = flow(loss, one=critics[0], other=critics[1], targets=torch.nn.ModuleList(targets))
    joined = torch.cat([batch["next_states"], action], 1)
    a, b = (t(joined).squeeze(1).detach() for t in targets)
    seen = torch.cat([batch["states"], batch["actions"]], 1)

    def total(following, bonus=-1, mask=1 - batch["done"]):
        target = [batch["rewards"] + asked["gamma"] * mask * (following + bonus * a * log_probs) for a in alphas]
        return [sum(torch.nn.functional.mse_loss(c(seen).squeeze(1), t).item() for c in critics) for t in target]

    return {
        "loss": [float(each) for each in losses],
        "targets": found["targets"],
        "larger": total(torch.maximum(a, b)),
        "added": total(torch.minimum(a, b), 1),
        "hard": total(torch.minimum(a, b), 0),
        "first": total(a),
        "unmasked": total(torch.minimum(a, b), mask=1.0),
    }


def judge(asked, seen, right):
    said_of = {
        "larger": "the larger of both target critics is taken: the smaller one keeps overestimation down",
        "added": "alpha · log-probability is added: entropy is minus the log-probability, so it is subtracted",
        "hard": "the entropy term is missing: subtract alpha · next_log_probs",
        "first": "only the first target critic is used: take the smaller of both",
        "unmasked": "the target goes on after the end of an episode: multiply by (1 - done)",
    }
    for variant, message in said_of.items():
        if close(seen["loss"], seen[variant]) and not close(seen["loss"], right["loss"]):
            yield message
    if not close(seen["loss"], right["loss"]):
        yield f"the loss should be {said(right['loss'][0])}, and is {said(seen['loss'][0])}"
    if seen["targets"] is not None:
        yield "the target critics get gradient: they are constants; compute the target under torch.no_grad()"

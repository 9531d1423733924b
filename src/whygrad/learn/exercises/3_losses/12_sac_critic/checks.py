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
    loss = code.critic_loss(critics, targets, batch, action, log_probs, asked["alpha"], asked["gamma"])
    differentiable(loss, *critics)
    found = flow(loss, one=critics[0], other=critics[1], targets=torch.nn.ModuleList(targets))
    joined = torch.cat([batch["next_states"], action], 1)
    a, b = (t(joined).squeeze(1).detach() for t in targets)
    seen = torch.cat([batch["states"], batch["actions"]], 1)

    def total(following, mask=1 - batch["done"]):
        target = batch["rewards"] + asked["gamma"] * mask * following
        return sum(torch.nn.functional.mse_loss(c(seen).squeeze(1), target).item() for c in critics)

    entropy = asked["alpha"] * log_probs
    return {
        "loss": loss,
        "targets": found["targets"],
        "larger": total(torch.maximum(a, b) - entropy),
        "added": total(torch.minimum(a, b) + entropy),
        "hard": total(torch.minimum(a, b)),
        "first": total(a - entropy),
        "unmasked": total(torch.minimum(a, b) - entropy, 1.0),
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
        yield f"the loss should be {said(right['loss'])}, and is {said(seen['loss'])}"
    if seen["targets"] is not None:
        yield "the target critics get gradient: they are constants; compute the target under torch.no_grad()"

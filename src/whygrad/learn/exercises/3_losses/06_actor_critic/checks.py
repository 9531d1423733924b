from whygrad.learn.judging import close, said


def ask(draw):
    return {
        "states": draw.table(6, 3),
        "next": draw.table(6, 3),
        "actions": draw.wholes(6, 0, 1),
        "rewards": draw.numbers(6),
        "done": [0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        "gamma": draw.number(0.7, 0.95),
    }


def observe(code, asked):
    import torch

    from whygrad.learn.seeing import differentiable, flow, network

    actor, critic = network(3, 2), network(3, 1)
    states, following = torch.tensor(asked["states"]), torch.tensor(asked["next"])
    rewards, done = torch.tensor(asked["rewards"]), torch.tensor(asked["done"])
    log_probs = torch.log_softmax(actor(states), 1).gather(1, torch.tensor(asked["actions"]).unsqueeze(1)).squeeze(1)
    actor_loss, critic_loss = code.losses(critic, log_probs, states, rewards, following, done, asked["gamma"])
    differentiable(actor_loss, actor, what="the actor's loss")
    differentiable(critic_loss, critic, what="the critic's loss")
    value, ahead = critic(states).squeeze(1), critic(following).squeeze(1)
    unmasked = rewards + asked["gamma"] * ahead
    return {
        "actor": actor_loss,
        "critic": critic_loss,
        "by actor": flow(actor_loss, actor=actor, critic=critic),
        "by critic": flow(critic_loss, critic=critic),
        "unmasked": torch.nn.functional.mse_loss(value, unmasked),
    }


def judge(asked, seen, right):
    if close(seen["critic"], seen["unmasked"]):
        yield "the critic expects something after the end of an episode: multiply V(next) by (1 - done)"
    if not close(seen["critic"], right["critic"]):
        yield f"the critic's loss should be {said(right['critic'])}, and is {said(seen['critic'])}"
    if not close(seen["by critic"]["critic"], right["by critic"]["critic"]):
        yield "the critic's loss is right and its gradient is not: the target carries gradient; detach it"
    if close(seen["actor"], -right["actor"]):
        yield "the actor's loss has the wrong sign: descent makes good actions less likely"
    if not close(seen["actor"], right["actor"]):
        yield f"the actor's loss should be {said(right['actor'])}, and is {said(seen['actor'])}"
    if seen["by actor"]["critic"] is not None:
        yield "the actor's loss trains the critic too: the advantage is a constant; detach it"
    yield from seen.engine()

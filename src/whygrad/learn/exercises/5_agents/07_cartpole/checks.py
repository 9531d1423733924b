GOAL, EPISODES = 60, 8


def ask(draw):
    return {"seed": draw.whole(0, 10_000)}


def observe(code, asked):
    import gymnasium

    from whygrad.learn.attempt import sow

    env = gymnasium.make("CartPole-v1")
    sow(asked["seed"])
    agent = code.Agent(env, 0.98, asked["seed"])
    agent.train(7680)
    total = 0
    for episode in range(EPISODES):
        state, _ = env.reset(seed=asked["seed"] + episode)
        ended = False
        while not ended:
            state, reward, terminated, truncated, _ = env.step(int(agent.act(state)))
            total, ended = total + reward, terminated or truncated
    return {"steps": total / EPISODES}


def judge(asked, seen):
    if not seen.updates:
        yield f"nothing was trained: no optimizer step was seen, and the pole stays up for {seen['steps']:.0f} steps"
    yield from seen.engine()
    if seen["steps"] < 15:
        yield f"the pole stays up for {seen['steps']:.0f} steps, less than by chance (22): the policy learns the opposite; look at the sign of its loss"
    if seen["steps"] < GOAL:
        yield f"the pole stays up for {seen['steps']:.0f} steps on average, {GOAL} are the goal: several epochs per batch, advantages that are normalised, and a critic that is trained help"

"""Reference agents: one readable file each, right first, and fast by tricks that live in `whygrad.agents.fast`.

    from whygrad.agents import ppo
    result = ppo.train("CartPole-v1", seed=1)

Each file has the same sections in the same order: settings, network, losses, one update, training.
"""

import numpy as np
import torch

from sac_core_good import SAC

torch.set_num_threads(1)


class Glider:
    """Keep the height at 1.0 by trimming; wind pushes around."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.h, self.v, self.t = self.rng.uniform(0.3, 1.7), 0.0, 0
        return self.obs()

    def obs(self):
        return np.array([self.h - 1.0, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.15 * float(a[0]) + 0.02 * self.rng.normal()
        self.h = float(np.clip(self.h + 0.3 * self.v, -1.0, 3.0))
        self.t += 1
        return self.obs(), -((self.h - 1.0) ** 2) - 0.1 * self.v ** 2, self.t >= 30


def main(total_steps=240, warmup=80, batch=64):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, agent, buffer = Glider(0), SAC(obs_dim=2, act_dim=1), []
    obs, ret, episodes = env.reset(), 0.0, 0
    for step in range(total_steps):
        action = agent.act(obs)
        nxt, reward, done = env.step(action)
        buffer.append((obs, action, [reward], nxt))
        obs, ret = nxt, ret + reward
        if done:
            episodes += 1
            print(f"episode {episodes} return {ret:.2f}")
            obs, ret = env.reset(), 0.0
        if step >= warmup and step % 4 == 0:
            rows = [buffer[i] for i in rng.integers(0, len(buffer), batch)]
            info = agent.update(*(torch.tensor(np.array(c), dtype=torch.float32) for c in zip(*rows)))
            if step % 40 == 0:
                print("  " + "  ".join(f"{k} {v:.4f}" for k, v in info.items()))


if __name__ == "__main__":
    main()

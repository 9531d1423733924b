import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Foraging:
    """Berries grow and rot on four bushes; visit one per step."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.berries = self.rng.uniform(0, 1, 4)
        self.here = 0

    def obs(self):
        place = np.eye(4)[self.here]
        return np.concatenate([self.berries, place]).astype(np.float32)

    def step(self, bush):
        travel = 0.1 * (bush != self.here)
        self.here = bush
        reward = self.berries[bush] - travel
        self.berries[bush] = 0.0
        self.berries = np.clip(self.berries + self.rng.uniform(0, 0.3, 4) * [1, 1, 0.5, 0.2], 0, 1)
        return self.obs(), float(reward)


class Brain(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.Sequential(nn.Linear(8, 48), nn.Tanh())
        self.actor = nn.Linear(48, 4)
        self.critic = nn.Linear(48, 1)
        self.reward_model = nn.Sequential(nn.Linear(48, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x):
        z = self.memory(x)
        return torch.distributions.Categorical(logits=self.actor(z)), self.critic(z).squeeze(-1), self.reward_model(z)


def nstep(rewards, bootstrap, gamma):
    out = []
    for r in reversed(rewards):
        bootstrap = r + gamma * bootstrap
        out.append(bootstrap)
    return torch.tensor(out[::-1])


def update(brain, optimizer, obs, actions, rewards, returns, coef):
    dist, values, predicted = brain(obs)
    adv = returns - values.detach()
    policy_loss = -(dist.log_prob(actions) * adv).mean()
    value_loss = F.mse_loss(values, returns)
    aux_loss = F.mse_loss(predicted.gather(1, actions[:, None]).squeeze(1), rewards)
    losses = {"policy": policy_loss, "value": coef["value"] * value_loss, "entropy": -coef["entropy"] * dist.entropy().mean()}
    total = sum(losses.values())
    optimizer.zero_grad()
    total.backward()  # <- culprit
    nn.utils.clip_grad_norm_(brain.parameters(), 2.0)
    optimizer.step()
    return total.item(), aux_loss.item()


def main(updates=40, steps=24, gamma=0.9):
    torch.manual_seed(5)
    env, brain = Foraging(5), Brain()
    optimizer = torch.optim.Adam(brain.parameters(), lr=3e-3)
    coef = {"value": 0.5, "entropy": 0.01, "aux": 1.0}
    for u in range(updates):
        obs, actions, rewards = [], [], []
        for _ in range(steps):
            o = torch.from_numpy(env.obs())
            with torch.no_grad():
                a = brain(o)[0].sample()
            _, r = env.step(a.item())
            obs.append(o), actions.append(a), rewards.append(r)
        with torch.no_grad():
            boot = brain(torch.from_numpy(env.obs()))[1].item()
        total, aux = update(brain, optimizer, torch.stack(obs), torch.stack(actions), torch.tensor(rewards),
                            nstep(rewards, boot, gamma), coef)
        if u % 8 == 7:
            print(f"update {u + 1}: reward {np.mean(rewards):.3f}  total {total:.3f}  aux {aux:.4f}")


if __name__ == "__main__":
    main()

import torch
import torch.nn as nn


def build_policy(obs, acts):
    return nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, acts))


class ReinforceTrainer:
    def __init__(self, obs, acts, cfg):
        self.cfg = cfg
        self.policy = build_policy(obs, acts)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=cfg["lr"])  # <- culprit
        self.baseline = 0.0

    def save(self, path):
        torch.save({"policy": self.policy, "optim": self.optimizer.state_dict(), "baseline": self.baseline}, path)

    def load(self, path):
        ckpt = torch.load(path, weights_only=False)
        self.policy = ckpt["policy"]  # <- culprit
        self.optimizer.load_state_dict(ckpt["optim"])
        self.baseline = ckpt["baseline"]

    def train_step(self, env):
        ctx = env.contexts()
        dist = torch.distributions.Categorical(logits=self.policy(ctx))
        arm = dist.sample()
        reward = env.reward(ctx, arm)
        weight = reward - self.baseline
        self.baseline = 0.9 * self.baseline + 0.1 * reward.mean().item()
        loss = -(dist.log_prob(arm) * weight).mean() - self.cfg["entropy"] * dist.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), reward.mean().item()

    def run(self, env, iterations):
        for i in range(iterations):
            loss, rew = self.train_step(env)
            if i % 10 == 0:
                print(f"iter {i} loss {loss:+.4f} reward {rew:+.3f}")

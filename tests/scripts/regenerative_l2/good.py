import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Agent(nn.Module):
    def __init__(self, n_obs=8, n_act=4, width=40):
        super().__init__()
        self.core = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.pi = nn.Linear(width, n_act)
        self.v = nn.Linear(width, 1)

    def forward(self, x):
        h = self.core(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class L2Init:
    """Regenerative regularisation: keep the weights close to where they started."""

    def __init__(self, model, strength):
        self.anchor = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.strength = strength

    def __call__(self, model):
        penalty = 0.0
        for name, weight in model.named_parameters():
            penalty = penalty + (weight - self.anchor[name]).square().sum()
        return self.strength * penalty

    @torch.no_grad()
    def distance(self, model):
        return sum((w - self.anchor[n]).square().sum() for n, w in model.named_parameters()).sqrt().item()


class DriftingBandit:
    def __init__(self, n_obs=8, n_act=4, period=60):
        self.period, self.t = period, 0
        self.shape = (n_obs, n_act)

    def observe(self, n):
        if self.t % self.period == 0:
            self.w = torch.randn(self.shape)
        self.t += 1
        self.x = torch.randn(n, self.shape[0])
        return self.x

    def reward(self, a):
        return torch.sigmoid(2 * (self.x @ self.w).gather(1, a[:, None]).squeeze(1))


def loss_fn(agent, regulariser, obs, env):
    dist, value = agent(obs)
    action = dist.sample()
    reward = env.reward(action)
    policy = -(dist.log_prob(action) * (reward - value.detach())).mean()
    critic = (value - reward).square().mean()
    entropy = dist.entropy().mean()
    return policy + 0.5 * critic - 0.01 * entropy + regulariser(agent), reward.mean().item()


def main():
    torch.manual_seed(21)
    env, agent = DriftingBandit(), Agent()
    regulariser = L2Init(agent, strength=5e-3)
    opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
    for t in range(300):
        loss, reward = loss_fn(agent, regulariser, env.observe(128), env)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if t % 60 == 59:
            print(f"t {t + 1} reward {reward:.3f} distance from start {regulariser.distance(agent):.3f}")


if __name__ == "__main__":
    main()

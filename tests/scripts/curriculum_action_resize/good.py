import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class PolicyNet(nn.Module):
    """Output layer grows when the curriculum unlocks more actions."""

    def __init__(self, obs_dim, n_actions, hidden=32):
        super().__init__()
        self.fc = nn.Linear(obs_dim, hidden)
        self.value = nn.Linear(hidden, 1)
        self.logits = nn.Linear(hidden, n_actions)

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        return Categorical(logits=self.logits(h)), self.value(h).squeeze(-1)

    def expand_actions(self, n_actions):
        old = self.logits
        new = nn.Linear(old.in_features, n_actions)
        with torch.no_grad():
            new.weight[: old.out_features] = old.weight
            new.bias[: old.out_features] = old.bias
        self.logits = new


class Dial:
    """Turn a dial to the shown number using the unlocked increments."""

    def __init__(self, n=12, envs=8):
        self.n, self.envs = n, envs
        self.moves = torch.tensor([1, -1, 3, -3])
        self.reset()

    def reset(self):
        self.pos = torch.randint(0, self.n, (self.envs,))
        self.goal = torch.randint(0, self.n, (self.envs,))
        return self.obs()

    def obs(self):
        d = (self.goal - self.pos).float() * 2 * torch.pi / self.n
        return torch.stack([d.sin(), d.cos(), (2 * d).sin()], 1)

    def step(self, a):
        self.pos = (self.pos + self.moves[a]) % self.n
        gap = (self.pos - self.goal) % self.n
        dist = torch.minimum(gap, self.n - gap)
        return self.obs(), -dist.float() / self.n


class Learner:
    def __init__(self, lr=5e-3, gamma=0.9):
        self.net = PolicyNet(3, 2)
        self.lr, self.gamma = lr, gamma
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=lr)

    def unlock(self, n):
        self.net.expand_actions(n)
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=self.lr)

    def iterate(self, env, horizon=8):
        obs, logps, values, rewards, ents = env.reset(), [], [], [], []
        for _ in range(horizon):
            dist, v = self.net(obs)
            a = dist.sample()
            logps.append(dist.log_prob(a)), values.append(v), ents.append(dist.entropy())
            obs, r = env.step(a)
            rewards.append(r)
        with torch.no_grad():
            g = self.net(obs)[1]
        returns = []
        for r in reversed(rewards):
            g = r + self.gamma * g
            returns.insert(0, g)
        ret, val = torch.stack(returns), torch.stack(values)
        adv = (ret - val).detach()
        loss = -(torch.stack(logps) * adv).mean() + 0.5 * (val - ret).pow(2).mean() - 0.01 * torch.stack(ents).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), torch.stack(rewards).mean().item()


if __name__ == "__main__":
    torch.manual_seed(5)
    env, learner = Dial(), Learner()
    for it in range(40):
        if it == 10:
            learner.unlock(4)
        loss, rew = learner.iterate(env)
        if it % 8 == 0:
            print(f"it {it} actions {learner.net.logits.out_features} loss {loss:+.3f} reward {rew:.3f}")

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Recall:
    """A cue is shown at the first step of an episode and must be named at the last one."""

    def __init__(self, n, length=4, cues=3):
        self.n, self.length, self.cues = n, length, cues
        self.t = torch.randint(0, length, (n,))
        self.cue = torch.randint(0, cues, (n,))

    def obs(self):
        shown = F.one_hot(self.cue, self.cues) * (self.t == 0)[:, None]
        ask = (self.t == self.length - 1)[:, None]
        return torch.cat([shown, ask], 1).float()

    def step(self, a):
        last = self.t == self.length - 1
        reward = torch.where(last, (a == self.cue).float(), torch.zeros(self.n))
        fresh = torch.randint(0, self.cues, (self.n,))
        self.cue = torch.where(last, fresh, self.cue)
        self.t = torch.where(last, torch.zeros_like(self.t), self.t + 1)
        return self.obs(), reward, last.float()


class RNNAgent(nn.Module):
    def __init__(self, obs_dim=4, hidden=32, n_actions=3):
        super().__init__()
        self.w_in = nn.Linear(obs_dim, hidden)
        self.w_rec = nn.Linear(hidden, hidden)
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)
        self.hidden = hidden

    def step(self, obs, h):
        h = torch.tanh(self.w_in(obs) + self.w_rec(h))
        return torch.distributions.Categorical(logits=self.actor(h)), self.critic(h).squeeze(1), h


class Worker:
    def __init__(self, n=24, steps=8, gamma=0.9):
        self.env, self.agent = Recall(n), RNNAgent()
        self.opt = torch.optim.Adam(self.agent.parameters(), lr=5e-3)
        self.steps, self.gamma = steps, gamma
        self.obs, self.h = self.env.obs(), torch.zeros(n, self.agent.hidden)

    def unroll(self):
        h = self.h.detach()
        logps, values, rewards, dones, entropies = [], [], [], [], []
        for _ in range(self.steps):
            dist, value, h = self.agent.step(self.obs, h)
            action = dist.sample()
            self.obs, reward, done = self.env.step(action)
            logps.append(dist.log_prob(action)), values.append(value), entropies.append(dist.entropy())
            rewards.append(reward), dones.append(done)
            h *= (1 - done).unsqueeze(1)  # <- culprit
        self.h = h.detach()
        with torch.no_grad():
            _, future, _ = self.agent.step(self.obs, self.h)
        returns = []
        for r, d in zip(reversed(rewards), reversed(dones)):
            future = r + self.gamma * (1 - d) * future
            returns.insert(0, future)
        return torch.stack(logps), torch.stack(values), torch.stack(returns), torch.stack(entropies), rewards, dones

    def update(self):
        logps, values, returns, entropies, rewards, dones = self.unroll()
        adv = returns - values.detach()
        loss = -(logps * adv).mean() + 0.5 * F.mse_loss(values, returns) - 0.01 * entropies.mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), float(sum(r.sum() for r in rewards) / sum(d.sum() for d in dones))


if __name__ == "__main__":
    torch.manual_seed(0)
    worker = Worker()
    for k in range(50):
        loss, correct = worker.update()
        if k % 10 == 0:
            print(f"update {k}: loss {loss:+.3f}, answers right {correct:.2f}")

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class TrafficLight:
    """4 queues, the action picks the one to serve."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.q = self.rng.uniform(0, 1, 4)

    def state(self):
        return self.q.astype(np.float32)

    def step(self, a):
        self.q += self.rng.uniform(0, 0.2, 4)
        self.q[a] = max(0.0, self.q[a] - 0.8)
        self.q = np.clip(self.q, 0, 2)
        return self.state(), -float(self.q.sum())


class Actor(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, n))

    def forward(self, s):
        return self.f(s)


class Critic(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.s = nn.Linear(n, 32)
        self.a = nn.Linear(n, 32, bias=False)
        self.out = nn.Linear(32, 1)

    def forward(self, s, a):
        return self.out(F.relu(self.s(s) + self.a(a)))


class DiscreteDDPG:
    def __init__(self, n=4, gamma=0.9, reg=1e-3):
        self.n, self.gamma, self.reg = n, gamma, reg
        self.actor, self.critic = Actor(n), Critic(n)
        self.actor_t, self.critic_t = Actor(n), Critic(n)
        self.actor_t.load_state_dict(self.actor.state_dict())
        self.critic_t.load_state_dict(self.critic.state_dict())
        self.pi_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.q_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def to_action(self, logits):
        best = logits.argmax(dim=-1)  # <- culprit
        return F.one_hot(best, self.n).float()

    def critic_update(self, s, a, r, s2):
        with torch.no_grad():
            y = r + self.gamma * self.critic_t(s2, self.to_action(self.actor_t(s2)))
        loss = F.mse_loss(self.critic(s, a), y)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()
        return loss

    def actor_update(self, s):
        logits = self.actor(s)
        loss = -self.critic(s, self.to_action(logits)).mean() + self.reg * logits.pow(2).mean()
        self.pi_opt.zero_grad()
        loss.backward()
        self.pi_opt.step()
        return loss

    def soft_sync(self, tau=0.02):
        for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, t in zip(net.parameters(), tgt.parameters()):
                t.data.mul_(1 - tau).add_(tau * p.data)


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, agent, mem = TrafficLight(0), DiscreteDDPG(), []
    s = env.state()
    for t in range(140):
        with torch.no_grad():
            a = int(agent.actor(torch.from_numpy(s)).argmax()) if rng.random() > 0.3 else int(rng.integers(4))
        s2, r = env.step(a)
        mem.append((s, np.eye(4, dtype=np.float32)[a], np.float32([r]), s2))
        s = s2
        if t >= 50 and t % 3 == 0:
            S, A, R, S2 = (torch.from_numpy(np.stack(c)) for c in zip(*[mem[i] for i in rng.integers(0, len(mem), 32)]))
            cl = agent.critic_update(S, A, R, S2)
            al = agent.actor_update(S)
            agent.soft_sync()
            if t % 15 == 0:
                print(f"{t} critic {cl.item():.3f} actor {al.item():.3f} reward {r:.2f}")

import copy
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)
    return module


class Actor(nn.Module):
    def __init__(self, s, a, limit):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(s, 64), nn.Linear(64, 64), nn.Linear(64, a)
        self.limit = limit

    def forward(self, s):
        return self.limit * torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(s))))))


class QNet(nn.Module):
    def __init__(self, s, a):
        super().__init__()
        self.l1, self.l2 = nn.Linear(s + a, 64), nn.Linear(64, 1)

    def forward(self, s, a):
        return self.l2(F.relu(self.l1(torch.cat([s, a], 1))))


class TD3:
    def __init__(self, s, a, limit):
        self.limit, self.gamma, self.tau, self.it = limit, 0.98, 0.01, 0
        self.actor = Actor(s, a, limit)
        self.q1, self.q2 = QNet(s, a), QNet(s, a)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(list(self.q1.parameters()) + list(self.q2.parameters()), lr=1e-3)
        self.actor_target = freeze(copy.deepcopy(self.actor))
        self.q1_target = freeze(copy.deepcopy(self.q1))
        self.q2_target = freeze(copy.deepcopy(self.q2))

    def select_action(self, state):
        with torch.no_grad():
            return self.actor(torch.from_numpy(state).unsqueeze(0))[0].numpy()

    def train(self, s, a, s2, r, nd):
        self.it += 1
        with torch.no_grad():
            noise = (torch.randn_like(a) * 0.2).clamp(-0.5, 0.5)
            a2 = (self.actor_target(s2) + noise).clamp(-self.limit, self.limit)
            y = r + nd * self.gamma * torch.min(self.q1_target(s2, a2), self.q2_target(s2, a2))
        critic_loss = F.mse_loss(self.q1(s, a), y) + F.mse_loss(self.q2(s, a), y)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        if self.it % 2 == 0:
            actor_loss = -self.q1(s, self.actor(s)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            for net, tgt in ((self.actor, self.actor_target), (self.q1, self.q1_target), (self.q2, self.q2_target)):
                for p, t in zip(net.parameters(), tgt.parameters()):
                    t.data.copy_(self.tau * p.data + (1 - self.tau) * t.data)
        return critic_loss.item()


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    env = gym.make("Pendulum-v1")
    env.action_space.seed(0)
    agent = TD3(3, 1, 2.0)
    rows, (obs, _) = [], env.reset(seed=0)
    for t in range(200):
        if t < 100:
            act = env.action_space.sample()
        else:
            act = (agent.select_action(obs) + np.random.normal(0, 0.2, 1)).clip(-2, 2).astype(np.float32)
        nxt, r, term, trunc, _ = env.step(act)
        rows.append((obs, act, nxt, [r / 10], [1.0 - term]))
        obs = nxt if not (term or trunc) else env.reset()[0]
        if t >= 100 and t % 2 == 0:
            idx = np.random.randint(len(rows), size=64)
            cols = [torch.from_numpy(np.array([rows[i][k] for i in idx], dtype=np.float32)) for k in range(5)]
            loss = agent.train(*cols)
            if t % 25 == 0:
                print(f"t {t} critic loss {loss:.4f}")


if __name__ == "__main__":
    main()

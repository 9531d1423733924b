import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Lights:
    """n lamps in a row; pressing one toggles it and its right neighbour. Goal: all off."""

    def __init__(self, n=5):
        self.n = n

    def reset(self):
        self.on = [random.randint(0, 1) for _ in range(self.n)]
        self.t = 0
        return torch.tensor(self.on, dtype=torch.float32)

    def step(self, i):
        before = sum(self.on)
        self.on[i] ^= 1
        if i + 1 < self.n:
            self.on[i + 1] ^= 1
        self.t += 1
        left = sum(self.on)
        reward = 1.0 if left == 0 else 0.1 * (before - left) - 0.05
        return torch.tensor(self.on, dtype=torch.float32), reward, left == 0, self.t >= 20


class Agent:
    def __init__(self, n, lr=2e-3, gamma=0.9):
        self.n, self.lr, self.gamma = n, lr, gamma
        self.q_net = self.build()
        self.target = self.build()
        self.memory, self.updates = [], 0

    def build(self):
        return nn.Sequential(nn.Linear(self.n, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, self.n))

    def reset(self):
        """Forget everything that was learned on the previous task."""
        self.q_net = self.build()
        self.optimizer = torch.optim.Adam(self.q_net.parameters(), lr=self.lr)
        self.target = self.build()
        self.target.load_state_dict(self.q_net.state_dict())
        self.memory.clear()
        self.updates = 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(self.n)
        with torch.no_grad():
            return int(self.q_net(s).argmax())

    def learn(self, batch=32):
        s, a, r, s2, end = zip(*random.sample(self.memory, batch))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, end = torch.tensor(a), torch.tensor(r), torch.tensor(end).float()
        with torch.no_grad():
            y = r + self.gamma * (1 - end) * self.target(s2).amax(1)
        q = self.q_net(s)[torch.arange(batch), a]
        loss = F.huber_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % 8 == 0:
            self.target.load_state_dict(self.q_net.state_dict())
        return loss.item()


class Runner:
    def __init__(self, tasks):
        self.tasks = tasks
        self.agent = Agent(5)

    def run(self, episodes=9):
        for name, env in self.tasks.items():
            self.agent.reset()
            for episode in range(episodes):
                s, over, total, loss = env.reset(), False, 0.0, float("nan")
                while not over:
                    a = self.agent.act(s, eps=max(0.2, 1 - 0.1 * episode))
                    s2, r, end, timeout = env.step(a)
                    self.agent.memory.append((s, a, r, s2, end))
                    s, total, over = s2, total + r, end or timeout
                    if len(self.agent.memory) >= 40 and len(self.agent.memory) % 4 == 0:
                        loss = self.agent.learn()
                if episode % 3 == 2:
                    print(f"{name} episode {episode + 1} return {total:+.2f} loss {loss:.4f} updates {self.agent.updates}")


if __name__ == "__main__":
    random.seed(2)
    torch.manual_seed(2)
    Runner({"lamps": Lights()}).run()

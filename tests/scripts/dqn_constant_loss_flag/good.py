import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
random.seed(5)
np.random.seed(5)
torch.manual_seed(5)


class PickUp:
    """Walk to the passenger, then carry them to the drop-off at the far end."""

    size = 6

    def reset(self):
        self.pos, self.carry = 0, 0
        self.passenger = np.random.randint(1, self.size - 1)
        self.steps = 0
        return self.state()

    def state(self):
        return [self.pos / self.size, self.passenger / self.size, float(self.carry)]

    def step(self, a):
        self.steps += 1
        reward, done = -0.05, False
        if a == 0:
            self.pos = max(0, self.pos - 1)
        elif a == 1:
            self.pos = min(self.size - 1, self.pos + 1)
        elif self.pos == self.passenger and not self.carry:
            self.carry, reward = 1, 0.5
        if self.carry and self.pos == self.size - 1:
            reward, done = 1.0, True
        return self.state(), reward, done or self.steps >= 40, done


def make_net():
    return nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))


q_net, target_net = make_net(), make_net()
target_net.load_state_dict(q_net.state_dict())
optim = torch.optim.RMSprop(q_net.parameters(), lr=1e-3)
memory = deque(maxlen=2000)


def replay(batch_size=24, gamma=0.95):
    errors = []
    for s, a, r, s2, end in random.sample(memory, batch_size):
        with torch.no_grad():
            best_next = target_net(torch.tensor(s2)).max().item()
        target = r if end else r + gamma * best_next
        q = q_net(torch.tensor(s))[a]
        errors.append((target - q) ** 2)
    loss = torch.stack(errors).mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
    return loss.item()


env, eps, updates = PickUp(), 1.0, 0
for episode in range(12):
    s, over, score = env.reset(), False, 0.0
    while not over:
        if random.random() < eps:
            a = random.randrange(3)
        else:
            with torch.no_grad():
                a = int(q_net(torch.tensor(s)).argmax())
        s2, r, over, end = env.step(a)
        memory.append((s, a, r, s2, end))
        s, score = s2, score + r
        if len(memory) > 60 and len(memory) % 6 == 0:
            loss = replay()
            updates += 1
            if updates % 10 == 0:
                target_net.load_state_dict(q_net.state_dict())
    eps = max(0.2, eps * 0.93)
    if episode % 3 == 2:
        print(f"episode {episode + 1} score {score:.2f} updates {updates} loss {loss:.5f}")

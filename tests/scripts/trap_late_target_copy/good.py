import random

import torch
from torch import nn

torch.set_num_threads(1)
SIZE, TARGET_PERIOD = 4, 200


class Grid:
    moves = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.p, self.t = [self.rng.randrange(SIZE), self.rng.randrange(SIZE)], 0
        return self.state()

    def state(self):
        return torch.tensor([self.p[0] / 3 * 2 - 1, self.p[1] / 3 * 2 - 1])

    def step(self, a):
        for i in range(2):
            self.p[i] = min(SIZE - 1, max(0, self.p[i] + self.moves[a][i]))
        self.t += 1
        goal = self.p == [SIZE - 1, SIZE - 1]
        return self.state(), 1.0 if goal else -0.05, goal, self.t >= 25


class DQN:
    def __init__(self, rng):
        make = lambda: nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 4))
        self.q, self.q_target = make(), make()
        self.copy_weights()
        self.opt = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.rng, self.memory, self.updates = rng, [], 0

    def copy_weights(self):
        self.q_target.load_state_dict(self.q.state_dict())

    @torch.no_grad()
    def act(self, s, eps):
        return self.rng.randrange(4) if self.rng.random() < eps else int(self.q(s).argmax())

    def update(self):
        rows = self.rng.sample(self.memory, 32)
        s, s2 = torch.stack([r[0] for r in rows]), torch.stack([r[3] for r in rows])
        a = torch.tensor([r[1] for r in rows])
        rew, done = torch.tensor([r[2] for r in rows]), torch.tensor([float(r[4]) for r in rows])
        with torch.no_grad():
            y = rew + 0.9 * (1 - done) * self.q_target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(self.q(s)[torch.arange(32), a], y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % TARGET_PERIOD == 0:
            self.copy_weights()
            print(f"target refreshed after {self.updates} updates")
        return loss.item()


def main():
    torch.manual_seed(5)
    rng = random.Random(5)
    env, agent = Grid(rng), DQN(rng)
    while agent.updates < 260:
        s, over = env.reset(), False
        while not over and agent.updates < 260:
            a = agent.act(s, eps=0.4)
            s2, r, done, timeout = env.step(a)
            agent.memory.append((s, a, r, s2, done))
            s, over = s2, done or timeout
            if len(agent.memory) >= 40:
                loss = agent.update()
                if agent.updates % 65 == 0:
                    print(f"updates {agent.updates} loss {loss:.4f}")


if __name__ == "__main__":
    main()

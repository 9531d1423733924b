import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Elevator:
    """Two shafts, six floors; send one of the lifts to the caller or let both stay."""

    def reset(self):
        self.lifts, self.caller, self.t = [0, 5], random.randrange(6), 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.lifts[0] / 5, self.lifts[1] / 5, self.caller / 5])

    def step(self, a):
        cost = 0.05
        if a < 2:
            cost += 0.1 * abs(self.lifts[a] - self.caller)
            self.lifts[a] = self.caller
            self.caller = random.randrange(6)
        else:
            cost += 0.4
        self.t += 1
        return self.obs(), -cost, self.t >= 15


class Dueling(nn.Module):
    def __init__(self, obs_dim=3, n_actions=3, width=40):
        super().__init__()
        self.shared = nn.Linear(obs_dim, width)
        self.value = nn.Linear(width, 1)
        self.adv_hidden = nn.Linear(width, width)
        self.adv = nn.Linear(width, n_actions)

    def forward(self, x):
        h = torch.tanh(self.shared(x))
        v = self.value(h)
        z = F.relu_(h)  # <- culprit
        a = self.adv(F.relu(self.adv_hidden(z)))
        return v + a - a.mean(dim=-1, keepdim=True)


class Learner:
    def __init__(self, gamma=0.9):
        self.net = Dueling()
        self.frozen = copy.deepcopy(self.net)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.gamma, self.count = gamma, 0

    def choose(self, obs, eps):
        if random.random() < eps:
            return random.randrange(3)
        with torch.no_grad():
            return self.net(obs).argmax().item()

    def train(self, rows):
        s, a, r, s2 = zip(*rows)
        s, a, r, s2 = torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2)
        with torch.no_grad():
            target = r + self.gamma * self.frozen(s2).max(dim=1).values
        q = self.net(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = (q - target).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.count += 1
        if self.count % 10 == 0:
            self.frozen.load_state_dict(self.net.state_dict())
        return loss.item()


def main():
    random.seed(1)
    torch.manual_seed(1)
    env, learner, memory = Elevator(), Learner(), []
    for episode in range(20):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            action = learner.choose(obs, eps=max(0.2, 1 - episode / 10))
            nxt, reward, done = env.step(action)
            memory.append((obs, action, reward, nxt))
            obs, total = nxt, total + reward
            if len(memory) >= 60 and len(memory) % 5 == 0:
                loss = learner.train(random.sample(memory, 40))
        if episode >= 4 and episode % 5 == 4:
            print(f"episode {episode + 1}: return {total:.2f}, loss {loss:.4f}, updates {learner.count}")


if __name__ == "__main__":
    main()

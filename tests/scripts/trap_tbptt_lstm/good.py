import torch
import torch.nn as nn

torch.set_num_threads(1)


class Parity:
    """stream of bits; report whether the last two bits were equal"""

    def __init__(self, n):
        self.n = n
        self.prev, self.cur = torch.randint(0, 2, (2, n))

    def obs(self):
        return self.cur.float().unsqueeze(1) * 2 - 1

    def step(self, a):
        r = torch.where(a == (self.prev == self.cur).long(), 1.0, -1.0)
        self.prev, self.cur = self.cur, torch.randint(0, 2, (self.n,))
        return r


class Agent(nn.Module):
    def __init__(self, n, hidden=32):
        super().__init__()
        self.lstm = nn.LSTMCell(1, hidden)
        self.pi, self.v = nn.Linear(hidden, 2), nn.Linear(hidden, 1)
        self.state = (torch.zeros(n, hidden), torch.zeros(n, hidden))

    def forward(self, o):
        self.state = self.lstm(o, self.state)
        h = self.state[0]
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(1)

    def truncate(self):
        self.state = tuple(s.detach() for s in self.state)


def main():
    torch.manual_seed(81)
    env, agent = Parity(32), Agent(32)
    opt = torch.optim.RMSprop(agent.parameters(), lr=3e-3)
    recent = []
    for k in range(200):
        agent.truncate()
        logps, values, rewards, ents = [], [], [], []
        for _ in range(5):
            dist, v = agent(env.obs())
            a = dist.sample()
            rewards.append(env.step(a))
            logps.append(dist.log_prob(a))
            ents.append(dist.entropy())
            values.append(v)
        reward, value = torch.stack(rewards), torch.stack(values)
        adv = reward - value
        loss = -(adv.detach() * torch.stack(logps)).mean() + 0.5 * adv.pow(2).mean() - 0.02 * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 2.0)
        opt.step()
        recent.append(reward.mean())
        if k % 40 == 39:
            print(f"k {k} loss {loss.item():+.3f} reward {torch.stack(recent[-20:]).mean():+.3f}")


if __name__ == "__main__":
    main()

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Forager(nn.Module):
    def __init__(self, obs_dim, msg_dim, n_actions, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim + msg_dim, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_actions)
        self.v = nn.Linear(hidden, 1)
        self.say = nn.Linear(hidden, msg_dim)

    def forward(self, obs, heard):
        h = self.body(torch.cat([obs, heard], -1))
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1), torch.tanh(self.say(h))


class MessageBoard:
    """Holds one message per agent; everybody reads the mean of the others."""

    def __init__(self, n_agents, n_envs, msg_dim):
        self.posts = [torch.zeros(n_envs, msg_dim) for _ in range(n_agents)]

    def read(self, me):
        others = [p for i, p in enumerate(self.posts) if i != me]
        return torch.stack(others).mean(0)

    def post(self, messages):
        self.posts = list(messages)

    def new_segment(self):
        self.posts = [p.detach() for p in self.posts]


class Meadow:
    """Each agent sees a different half of the code that tells where the berries are."""

    def __init__(self, n):
        self.n = n
        self.renew()

    def renew(self):
        self.bits = torch.randint(2, (self.n, 2))
        self.sun = torch.rand(self.n) * 2 - 1
        self.left = 6

    def obs(self):
        return [torch.stack([self.bits[:, i] * 2.0 - 1, self.sun], 1) for i in range(2)]

    def step(self, acts):
        where = self.bits[:, 0] * 2 + self.bits[:, 1]
        reward = sum((a == where).float() for a in acts) / 2 + self.sun
        self.left -= 1
        if self.left == 0:
            self.renew()
        return reward


def main():
    torch.manual_seed(13)
    n_envs, seg, gamma = 16, 6, 0.5
    env = Meadow(n_envs)
    team = nn.ModuleList([Forager(2, 4, 4) for _ in range(2)])
    board = MessageBoard(2, n_envs, 4)
    opt = torch.optim.Adam(team.parameters(), lr=5e-3)
    for it in range(40):
        board.new_segment()
        logps, values, ents, rewards = [], [], [], []
        for _ in range(seg):
            out = [net(o, board.read(i)) for i, (net, o) in enumerate(zip(team, env.obs()))]
            acts = [d.sample() for d, _, _ in out]
            logps.append(torch.stack([d.log_prob(a) for (d, _, _), a in zip(out, acts)]))
            values.append(torch.stack([v for _, v, _ in out]))
            ents.append(torch.stack([d.entropy() for d, _, _ in out]))
            board.post(m for _, _, m in out)
            rewards.append(env.step(acts))
        run, returns = torch.zeros(n_envs), []
        for r in reversed(rewards):
            run = r + gamma * run
            returns.insert(0, run)
        ret = torch.stack(returns).unsqueeze(1).expand(-1, 2, -1)
        val, logp = torch.stack(values), torch.stack(logps)
        adv = (ret - val).detach()
        loss = -(logp * adv).mean() + 0.5 * (ret - val).pow(2).mean() - 0.01 * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print(f"iter {it} reward {torch.stack(rewards).mean():.3f} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

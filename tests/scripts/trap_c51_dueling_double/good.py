"""Categorical DQN (C51) with a dueling head and double action selection, on a windy corridor."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def encode(pos):
    return 4.0 * F.one_hot(pos, 9).float()


class Corridor:
    """n walkers on 9 cells; right end pays 1, left end pays 0.2, wind pushes at random."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n = n
        self.pos = torch.randint(2, 7, (n,), generator=self.g)

    def obs(self):
        return encode(self.pos)

    def step(self, action):
        wind = (torch.rand(self.n, generator=self.g) < 0.15).long() * (2 * torch.randint(0, 2, (self.n,), generator=self.g) - 1)
        self.pos = (self.pos + 2 * action - 1 + wind).clamp(0, 8)
        after, done = self.obs(), (self.pos == 0) | (self.pos == 8)
        reward = (self.pos == 8).float() + 0.2 * (self.pos == 0).float()
        self.pos = torch.where(done, torch.randint(2, 7, (self.n,), generator=self.g), self.pos)
        return after, reward, done.float()


class RainbowLite(nn.Module):
    def __init__(self, obs, act, atoms=21, v_min=-0.2, v_max=1.2, hidden=48):
        super().__init__()
        self.act, self.atoms = act, atoms
        self.feature = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU())
        self.advantage = nn.Linear(hidden, act * atoms)
        self.value = nn.Linear(hidden, atoms)
        self.register_buffer("support", torch.linspace(v_min, v_max, atoms))
        self.delta = (v_max - v_min) / (atoms - 1)

    def logits(self, x):
        f = self.feature(x)
        adv = self.advantage(f).view(-1, self.act, self.atoms)
        return self.value(f)[:, None, :] + adv - adv.mean(1, keepdim=True)

    def forward(self, x):
        return F.softmax(self.logits(x), dim=-1)

    def q(self, x):
        return (self(x) * self.support).sum(-1)


def project(net, next_dist, reward, done, gamma):
    with torch.no_grad():
        b_size = reward.shape[0]
        tz = (reward[:, None] + gamma * (1 - done[:, None]) * net.support).clamp(net.support[0], net.support[-1])
        b = ((tz - net.support[0]) / net.delta).clamp(0, net.atoms - 1)
        low, up = b.floor().long(), b.ceil().long()
        low[(up > 0) & (low == up)] -= 1
        up[(low < net.atoms - 1) & (low == up)] += 1
        offset = (torch.arange(b_size) * net.atoms)[:, None]
        m = torch.zeros(b_size, net.atoms)
        m.view(-1).index_add_(0, (low + offset).view(-1), (next_dist * (up.float() - b)).view(-1))
        m.view(-1).index_add_(0, (up + offset).view(-1), (next_dist * (b - low.float())).view(-1))
    return m


class Learner:
    def __init__(self, gamma=0.9, lr=3e-3):
        self.online, self.target = RainbowLite(9, 2), RainbowLite(9, 2)
        self.target.load_state_dict(self.online.state_dict())
        self.target.eval()
        self.opt = torch.optim.Adam(self.online.parameters(), lr=lr)
        self.gamma, self.updates = gamma, 0

    def learn(self, s, a, r, s2, d):
        best = self.online.q(s2).argmax(1)
        rows = torch.arange(len(a))
        next_dist = self.target(s2)[rows, best]
        m = project(self.online, next_dist, r, d, self.gamma)
        logp = F.log_softmax(self.online.logits(s), dim=-1)[rows, a]
        loss = -(m * logp).sum(1).mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.opt.step()
        self.updates += 1
        if self.updates % 8 == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env, learner, memory = Corridor(12), Learner(), []
    s = env.obs()
    for t in range(60):
        with torch.no_grad():
            greedy = learner.online.q(s).argmax(1)
        a = torch.where(torch.rand(env.n) < 0.3, torch.randint(0, 2, (env.n,)), greedy)
        s2, r, d = env.step(a)
        memory.extend(zip(s, a, r, s2, d))
        s = env.obs()
        if t >= 10:
            batch = [memory[i] for i in torch.randint(0, len(memory), (48,)).tolist()]
            loss = learner.learn(*(torch.stack(c) for c in zip(*batch)))
            if t % 10 == 0:
                print(f"t {t} loss {loss:.3f} q(mid) {[round(q, 3) for q in learner.online.q(encode(torch.tensor([4])))[0].tolist()]}")


if __name__ == "__main__":
    main()

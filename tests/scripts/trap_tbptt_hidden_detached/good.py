import torch
import torch.nn as nn

torch.set_num_threads(1)


class Repeat:
    """Reward for repeating the bit seen two steps ago."""

    def __init__(self, n):
        self.n = n
        self.hist = [torch.randint(0, 2, (n,)) for _ in range(3)]

    def obs(self):
        return torch.stack([self.hist[-1].float(), 1 - self.hist[-1].float()], -1)

    def step(self, a):
        r = (a == self.hist[-3]).float()
        self.hist = self.hist[1:] + [torch.randint(0, 2, (self.n,))]
        return self.obs(), r


class RecurrentAC(nn.Module):
    def __init__(self, hid=24):
        super().__init__()
        self.lstm = nn.LSTMCell(2, hid)
        self.pi = nn.Linear(hid, 2)
        self.v = nn.Linear(hid, 1)
        self.hid = hid

    def initial(self, n):
        return torch.zeros(n, self.hid), torch.zeros(n, self.hid)

    def forward(self, x, state):
        h, c = self.lstm(x, state)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1), (h, c)


def main(n=16, chunk=6, updates=25):
    torch.manual_seed(0)
    env, net = Repeat(n), RecurrentAC()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    obs, state = env.obs(), net.initial(n)
    for u in range(updates):
        state = tuple(x.detach() for x in state)
        lps, vs, rs, ents = [], [], [], []
        for _ in range(chunk):
            d, v, state = net(obs, state)
            a = d.sample()
            obs, r = env.step(a)
            lps.append(d.log_prob(a))
            vs.append(v)
            rs.append(r)
            ents.append(d.entropy())
        with torch.no_grad():
            g = net(obs, state)[1]
        rets = []
        for r in reversed(rs):
            g = r + 0.5 * g
            rets.append(g)
        rets, vs = torch.stack(rets[::-1]), torch.stack(vs)
        adv = rets - vs.data
        loss = -(torch.stack(lps) * adv).mean() + 0.5 * (vs - rets).pow(2).mean() - 0.01 * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if u % 6 == 0:
            print(u, round(loss.item(), 4), round(torch.stack(rs).mean().item(), 3))


main()

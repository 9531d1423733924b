import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(7)
N, T, GAMMA = 8, 6, 0.95


class Corridors:
    """N corridors of length 7; reward at the right end."""

    def __init__(self, n):
        self.pos = torch.full((n,), 3)

    def obs(self):
        return F.one_hot(self.pos, 7).float()

    def step(self, act):
        self.pos = self.pos + act * 2 - 1
        rew = (self.pos >= 6).float() - 0.05
        done = (self.pos >= 6) | (self.pos <= 0)
        self.pos = torch.where(done, torch.full_like(self.pos, 3), self.pos)
        return self.obs(), rew, done.float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(7, 32)
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.v(h).squeeze(-1)


def weighted_nll(logps, advs):
    """Mean of -A * log pi over all (t, env) pairs."""
    terms = []
    for lp, adv in zip(logps, advs):
        for l, a in zip(lp, adv):
            terms.append(-l * a)
    return logps[0].new_tensor(terms).mean()  # <- culprit


net = Net()
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
env = Corridors(N)
obs = env.obs()
for update in range(25):
    logps, vals, ents, rews, dones = [], [], [], [], []
    for _ in range(T):
        logits, v = net(obs)
        d = torch.distributions.Categorical(logits=logits)
        a = d.sample()
        obs, r, done = env.step(a)
        logps.append(d.log_prob(a))
        ents.append(d.entropy())
        vals.append(v)
        rews.append(r)
        dones.append(done)
    with torch.no_grad():
        ret = net(obs)[1]
    rets = []
    for r, done in zip(reversed(rews), reversed(dones)):
        ret = r + GAMMA * (1 - done) * ret
        rets.insert(0, ret)
    rets, values = torch.stack(rets), torch.stack(vals)
    adv = (rets - values).detach()
    pg = weighted_nll(logps, adv)
    vf = F.mse_loss(values, rets)
    loss = pg + 0.5 * vf - 0.01 * torch.stack(ents).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 8 == 0:
        print(update, f"{loss.item():.3f}", f"{torch.stack(rews).mean().item():.3f}")

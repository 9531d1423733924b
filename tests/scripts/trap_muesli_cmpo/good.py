import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_ACT, OBS, GAMMA = 4, 6, 0.8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS, 48), nn.ReLU())
        self.pi = nn.Linear(48, N_ACT)
        self.v = nn.Linear(48, 1)
        self.q = nn.Linear(48, N_ACT)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1), self.q(h)


class Islands:
    """Six islands; from each one, four ferries with fixed fares and destinations."""

    def __init__(self, n):
        self.n = n
        self.to = torch.randint(OBS, (OBS, N_ACT))
        self.fare = torch.randn(OBS, N_ACT)
        self.s = torch.randint(OBS, (n,))

    def obs(self):
        return F.one_hot(self.s, OBS).float()

    def step(self, a):
        r = self.fare[self.s, a]
        self.s = torch.where(torch.rand(self.n) < 0.1, torch.randint(OBS, (self.n,)), self.to[self.s, a])
        return r


@torch.no_grad()
def collect(env, net, steps):
    out = []
    for _ in range(steps):
        o = env.obs()
        logits = net(o)[0]
        a = torch.distributions.Categorical(logits=logits).sample()
        r = env.step(a)
        out.append((o, a, r, torch.log_softmax(logits, -1).gather(1, a[:, None]).squeeze(1), env.obs()))
    return [torch.cat(c) for c in zip(*out)]


def cmpo_target(prior_logits, q, v, var):
    """pi_CMPO proportional to prior * exp(clip(adv))."""
    adv = (q - v.unsqueeze(1)) / (var.sqrt() + 1e-6)
    return torch.softmax(prior_logits + adv.clamp(-1.0, 1.0), dim=-1)


def main(iters=90):
    torch.manual_seed(14)
    env, net = Islands(24), Net()
    slow = copy.deepcopy(net)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    var, decay_product = torch.tensor(0.0), 1.0
    for it in range(iters):
        o, a, r, behaviour, o2 = collect(env, net, 5)
        logits, v, q = net(o)
        slow_logits, slow_v, slow_q = (t.detach() for t in slow(o))
        with torch.no_grad():
            next_logits, _, next_q = slow(o2)
            next_v = (torch.softmax(next_logits, -1) * next_q).sum(-1)
            g = r + GAMMA * next_v
            raw_adv = g - slow_v
            var = 0.99 * var + 0.01 * raw_adv.square().mean()
            decay_product *= 0.99
            var_hat = var / (1 - decay_product)
        logp = torch.log_softmax(logits, -1)
        picked = logp.gather(1, a[:, None]).squeeze(1)
        ratio = torch.exp(picked - behaviour).clamp(0, 1).detach()
        pg = -(ratio * (raw_adv / (var_hat.sqrt() + 1e-6)).clamp(-1, 1) * picked).mean()
        target = cmpo_target(slow_logits, slow_q, slow_v, var_hat)
        reg = -(target.detach() * logp).sum(-1).mean()
        q_taken = q.gather(1, a[:, None]).squeeze(1)
        model = F.mse_loss(q_taken, g) + F.mse_loss(v, (target * slow_q).sum(-1))
        loss = pg + reg + 0.5 * model
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, t in zip(net.parameters(), slow.parameters()):
                t.lerp_(p, 0.1)
        if it % 18 == 0:
            print(f"iter {it} reward {r.mean():.3f} pg {pg.item():+.4f} cmpo {reg.item():.4f} model {model.item():.4f}")


if __name__ == "__main__":
    main()

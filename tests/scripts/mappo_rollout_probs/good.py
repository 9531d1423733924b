import torch
import torch.nn as nn

torch.set_num_threads(1)


class Ferries:
    """Two ferries share a canal: moving is paid, moving together in opposite directions blocks both."""

    def __init__(self, n, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.n = n
        self.side = torch.randint(0, 2, (n, 2), generator=self.gen)
        self.wind = torch.rand(n, generator=self.gen)

    def obs(self):
        own = self.side.float()
        other = self.side.flip(1).float()
        idx = torch.tensor([0.0, 1.0]).expand(self.n, 2)
        return torch.stack([own, other, self.wind[:, None].expand(-1, 2), idx], -1)

    def step(self, act):
        go = act == 1
        both = go.all(1) & (self.side[:, 0] != self.side[:, 1])
        cost = 0.8 * (self.wind > 0.6).float()[:, None]
        r = torch.where(both[:, None], torch.full((self.n, 2), -1.0), go.float() * (1.0 - cost))
        moved = go & ~both[:, None]
        self.side = torch.where(moved, 1 - self.side, self.side)
        self.wind = torch.rand(self.n, generator=self.gen)
        return r.mean(1)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, o):
        return self.f(o).softmax(-1)


class Central(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, o):
        return self.f(o.flatten(-2)).squeeze(-1)


class Batch(dict):
    __getattr__ = dict.__getitem__

    def push(self, **kw):
        for k, v in kw.items():
            self.setdefault(k, []).append(v)

    def done(self):
        return Batch({k: torch.stack(v) for k, v in self.items()})


@torch.no_grad()
def collect(env, actor, horizon):
    batch = Batch()
    for _ in range(horizon):
        o = env.obs()
        p = actor(o)
        a = torch.multinomial(p.reshape(-1, 2), 1).view(env.n, 2)
        r = env.step(a)
        batch.push(o=o, a=a, r=r, p=p.gather(-1, a.unsqueeze(-1)).squeeze(-1))
    batch.push(o=env.obs())
    return batch.done()


def discounted(rewards, last, gamma):
    out = torch.empty_like(rewards)
    for t in range(len(rewards) - 1, -1, -1):
        last = rewards[t] + gamma * last
        out[t] = last
    return out


def main(iters=80, horizon=12, clip=0.2):
    torch.manual_seed(6)
    env, actor, central = Ferries(16, 6), Actor(), Central()
    opt_a = torch.optim.Adam(actor.parameters(), lr=4e-3)
    opt_c = torch.optim.Adam(central.parameters(), lr=4e-3)
    for it in range(iters):
        b = collect(env, actor, horizon)
        with torch.no_grad():
            v = central(b.o)
            ret = discounted(b.r, v[-1], 0.9)
            adv = ret - v[:-1]
            adv = ((adv - adv.mean()) / (adv.std() + 1e-6)).unsqueeze(-1)
        dist = actor(b.o[:-1])
        pi = dist.gather(-1, b.a.unsqueeze(-1)).squeeze(-1)
        ratio = pi / b.p
        gain = torch.minimum(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        entropy = -(dist * dist.clamp_min(1e-8).log()).sum(-1).mean()
        opt_a.zero_grad()
        (-gain - 0.01 * entropy).backward()
        opt_a.step()

        v_loss = (central(b.o[:-1]) - ret).pow(2).mean()
        opt_c.zero_grad()
        v_loss.backward()
        opt_c.step()
        if it % 16 == 15:
            print(f"it {it} reward {b.r.mean():.3f} entropy {entropy.item():.3f} v_loss {v_loss.item():.3f}")


if __name__ == "__main__":
    main()

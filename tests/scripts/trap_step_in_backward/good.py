import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Elevator:
    def __init__(self, n=24, floors=5, seed=9):
        self.n, self.floors, self.g = n, floors, torch.Generator().manual_seed(seed)
        self.pos, self.call = self._floor(), self._floor()

    def _floor(self):
        return torch.randint(0, self.floors, (self.n,), generator=self.g)

    def obs(self):
        hot = nn.functional.one_hot
        return torch.cat([hot(self.pos, self.floors), hot(self.call, self.floors)], 1).float()

    def step(self, a):
        self.pos = (self.pos + a - 1).clamp(0, self.floors - 1)
        served = self.pos == self.call
        self.call = torch.where(served, self._floor(), self.call)
        return self.obs(), served.float() - 0.1, served.float()


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 40), nn.Tanh())
        self.actor, self.critic = nn.Linear(40, act), nn.Linear(40, 1)

    def forward(self, x):
        h = self.trunk(x)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def fuse_optimizers(module, lr):
    optimizers = {p: torch.optim.Adam([p], lr=lr, foreach=False) for p in module.parameters()}

    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad(set_to_none=True)

    for p in module.parameters():
        p.register_post_accumulate_grad_hook(hook)
    return optimizers


def main(updates=60, horizon=6, gamma=0.8):
    torch.manual_seed(9)
    env = Elevator()
    net = ActorCritic(2 * env.floors, 3)
    fuse_optimizers(net, lr=3e-3)
    obs = env.obs()
    for u in range(updates):
        rows = []
        with torch.no_grad():
            for _ in range(horizon):
                a = net(obs)[0].sample()
                nxt, r, end = env.step(a)
                rows.append((obs, a, r, end))
                obs = nxt
            run, rets = net(obs)[1], []
            for _, _, r, end in reversed(rows):
                run = r + gamma * run * (1 - end)
                rets.insert(0, run)
        O, A, R, _ = (torch.stack(c) for c in zip(*rows))
        G = torch.stack(rets)
        dist, value = net(O)
        adv = (G - value).detach()
        loss = -(dist.log_prob(A) * adv).mean() + 0.5 * (value - G).pow(2).mean() - 0.02 * dist.entropy().mean()
        loss.backward()
        if u % 15 == 0:
            print(f"update {u} reward {R.mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    main()

import copy
import queue

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, obs=6, act=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, act), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class Memory:
    """Reproduce the cue shown one step earlier."""

    def __init__(self, n, seed):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.prev, self.cue = self._cue(), self._cue()

    def _cue(self):
        return torch.randint(0, 3, (self.n,), generator=self.g)

    def obs(self):
        hot = nn.functional.one_hot
        return torch.cat([hot(self.prev, 3), hot(self.cue, 3)], 1).float()

    def step(self, a):
        r = (a == self.prev).float()
        self.prev, self.cue = self.cue, self._cue()
        return self.obs(), r


class Actor:
    def __init__(self, net, seed):
        self.net, self.env = copy.deepcopy(net).requires_grad_(False), Memory(8, seed)

    def pull(self, learner_net):
        self.net.load_state_dict(learner_net.state_dict())

    @torch.no_grad()
    def unroll(self, T):
        traj, obs = {"obs": [], "act": [], "mu": [], "rew": []}, self.env.obs()
        for _ in range(T):
            d = Categorical(logits=self.net(obs)[0])
            a = d.sample()
            nxt, r = self.env.step(a)
            for k, v in zip(traj, (obs, a, d.log_prob(a), r)):
                traj[k].append(v)
            obs = nxt
        return {k: torch.stack(v) for k, v in traj.items()} | {"last": obs}


@torch.no_grad()
def vtrace(rho, rew, val, boot, gamma):
    rho_c = rho.clamp(max=1.0)
    nxt = torch.cat([val[1:], boot[None]])
    delta = rho_c * (rew + gamma * nxt - val)
    acc, vs = torch.zeros_like(boot), torch.zeros_like(val)
    for t in reversed(range(len(rew))):
        acc = delta[t] + gamma * rho_c[t] * acc
        vs[t] = val[t] + acc
    vs_next = torch.cat([vs[1:], boot[None]])
    return vs, rho_c * (rew + gamma * vs_next - val)


def main(updates=48, gamma=0.5, pull_every=4):
    torch.manual_seed(7)
    net = Net()
    opt = torch.optim.RMSprop(net.parameters(), lr=1.5e-3, eps=1e-4)
    actors, trajectories = [Actor(net, s) for s in range(2)], queue.Queue()
    for u in range(updates):
        for actor in actors:
            if u % pull_every == 0:
                actor.pull(net)
            trajectories.put(actor.unroll(8))
        batch = [trajectories.get() for _ in actors]
        obs, act, mu, rew = (torch.cat([b[k] for b in batch], 1) for k in ("obs", "act", "mu", "rew"))
        logits, value = net(obs)
        dist = Categorical(logits=logits)
        logp = dist.log_prob(act)
        with torch.no_grad():
            boot = net(torch.cat([b["last"] for b in batch]))[1]
        rho = (logp - mu).exp().detach()
        vs, adv = vtrace(rho, rew, value, boot, gamma)
        loss = -(logp * adv).mean() + 0.5 * (vs - value).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if u % 12 == 11:
            print(f"update {u} reward {rew.mean():.3f} |rho-1| {(rho - 1).abs().mean():.3f}")


if __name__ == "__main__":
    main()

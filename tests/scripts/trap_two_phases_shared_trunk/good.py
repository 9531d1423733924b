import copy

import torch
from torch import nn
from torch.distributions import Categorical, kl_divergence

torch.set_num_threads(1)


class Routing:
    def __init__(self, n=32, seed=10):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.table = torch.randn(6, 4, generator=self.g)
        self.x = torch.randn(n, 6, generator=self.g)

    def step(self, a):
        r = torch.tanh((self.x @ self.table).gather(1, a[:, None]).squeeze(1))
        self.x = 0.7 * self.x + 0.7 * torch.randn(self.n, 6, generator=self.g)
        return r


class PPG(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, width), nn.Tanh())
        self.pi, self.aux_v = nn.Linear(width, 4), nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 1))

    def policy(self, x):
        return Categorical(logits=self.pi(self.trunk(x)))


def main(phases=4, policy_iters=5, gamma=0.5):
    torch.manual_seed(10)
    env, net = Routing(), PPG()
    policy_opt = torch.optim.Adam([*net.trunk.parameters(), *net.pi.parameters(), *net.value.parameters()], lr=3e-3)
    aux_opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for phase in range(phases):
        seen = []
        for _ in range(policy_iters):
            obs, act, rew, logp = [], [], [], []
            with torch.no_grad():
                for _ in range(6):
                    x = env.x
                    d = net.policy(x)
                    a = d.sample()
                    obs.append(x), act.append(a), logp.append(d.log_prob(a)), rew.append(env.step(a))
                run, rets = net.value(env.x).squeeze(-1), []
                for r in reversed(rew):
                    run = r + gamma * run
                    rets.insert(0, run)
            O, A, L, G = torch.cat(obs), torch.cat(act), torch.cat(logp), torch.cat(rets)
            adv = G - net.value(O).squeeze(-1).detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            for _ in range(2):
                d = net.policy(O)
                ratio = (d.log_prob(A) - L).exp()
                pg = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() - 0.01 * d.entropy().mean()
                vf = (net.value(O).squeeze(-1) - G).pow(2).mean()
                policy_opt.zero_grad()
                (pg + 0.5 * vf).backward()
                policy_opt.step()
            seen.append((O, G))
        frozen = copy.deepcopy(net).requires_grad_(False)
        for O, G in seen:
            with torch.no_grad():
                anchor = frozen.policy(O)
            h = net.trunk(O)
            joint = (net.aux_v(h).squeeze(-1) - G).pow(2).mean()
            clone = kl_divergence(anchor, Categorical(logits=net.pi(h))).mean()
            vf = (net.value(O).squeeze(-1) - G).pow(2).mean()
            aux_opt.zero_grad()
            (0.5 * joint + clone + 0.5 * vf).backward()
            aux_opt.step()
        print(f"phase {phase} reward {torch.cat(rew).mean():.3f} aux {joint.item():.3f} clone {clone.item():.4f}")


if __name__ == "__main__":
    main()

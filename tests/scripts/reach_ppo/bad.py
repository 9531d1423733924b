import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)
N_ENVS, STEPS, ITERS, EPOCHS, MB, CLIP = 16, 16, 8, 10, 4, 0.2
LR = 6e-2


class Reach:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.p = torch.rand(self.n, 2) * 4 - 2
        self.t = torch.zeros(self.n)
        return self.obs()

    def obs(self):
        return torch.cat([self.p, self.p.norm(dim=1, keepdim=True), (self.t / STEPS).unsqueeze(1)], 1)

    def step(self, a):
        self.p = (self.p + 0.3 * a.clamp(-1, 1)).clamp(-3, 3)
        self.t += 1
        return self.obs(), -0.2 * self.p.norm(dim=1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))
        self.value = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
        with torch.no_grad():
            self.mean[-1].weight.mul_(0.1)

    def pi(self, o):
        return Normal(self.mean(o), self.log_std.exp())


def gae(rewards, values, gamma=0.95, lam=0.9):
    adv, last = torch.zeros_like(rewards), 0.0
    for t in range(len(rewards) - 1, -1, -1):
        nxt = values[t + 1] if t + 1 < len(rewards) else torch.zeros(N_ENVS)
        last = rewards[t] + gamma * nxt - values[t] + gamma * lam * last
        adv[t] = last
    return adv


def main():
    torch.manual_seed(80)
    env, agent = Reach(N_ENVS), Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=LR, eps=1e-5)
    for it in range(ITERS):
        o, roll = env.reset(), []
        for _ in range(STEPS):
            with torch.no_grad():
                d = agent.pi(o)
                a = d.sample()
                v = agent.value(o).squeeze(1)
            o2, r = env.step(a)
            roll.append((o, a, d.log_prob(a).sum(1), v, r))
            o = o2
        obs, act, old, val, rew = (torch.stack(c) for c in zip(*roll))
        adv = gae(rew, val)
        ret = (adv + val).flatten()
        obs, act, old, adv = obs.flatten(0, 1), act.flatten(0, 1), old.flatten(), adv.flatten()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        kls = []
        for _ in range(EPOCHS):
            for mb in torch.randperm(len(old)).chunk(MB):
                logratio = agent.pi(obs[mb]).log_prob(act[mb]).sum(1) - old[mb]  # <- culprit
                ratio = logratio.exp()  # <- culprit
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()  # <- culprit
                    kls.append(approx_kl.item())
                surrogate = torch.min(ratio * adv[mb], ratio.clamp(1 - CLIP, 1 + CLIP) * adv[mb])  # <- culprit
                v_loss = (agent.value(obs[mb]).squeeze(1) - ret[mb]).pow(2).mean()
                loss = -surrogate.mean() + 0.5 * v_loss
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                opt.step()
        ev = 1 - (ret - val.flatten()).var() / ret.var()
        print(f"iter {it} reward {rew.mean():.3f} kl last {kls[-1]:.4f} max {max(kls):.4f} ev {ev:.2f} std {agent.log_std.exp().mean():.3f}")


if __name__ == "__main__":
    main()

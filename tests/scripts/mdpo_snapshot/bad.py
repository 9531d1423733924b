import torch
from torch import nn
from torch.distributions import Categorical, kl_divergence
from torch.func import functional_call

torch.set_num_threads(1)


class TaxiLine:
    """Serve the side with the longer queue; queues grow at random."""

    def __init__(self, n=32, seed=8):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.queue = torch.randint(0, 4, (n, 3), generator=self.g).float()

    def obs(self):
        return self.queue / 3 - 1

    def step(self, action):
        served = nn.functional.one_hot(action, 3).float() * 2
        before = self.queue.sum(1)
        self.queue = (self.queue - served).clamp(min=0)
        gain = 0.3 * (before - self.queue.sum(1))
        arrivals = (torch.rand(self.n, 3, generator=self.g) < 0.5).float()
        self.queue = (self.queue + arrivals).clamp(max=6)
        return self.obs(), gain


def snapshot(module):
    return {name: t for name, t in module.state_dict().items()}  # <- culprit


class MDPO:
    def __init__(self, kl_coef=2.0, inner=4, gamma=0.8):
        self.policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.pi_opt = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.v_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.kl_coef, self.inner, self.gamma = kl_coef, inner, gamma

    def dist(self, obs):
        return Categorical(logits=self.policy(obs))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)

    def improve(self, obs, act, logp, adv):
        previous = snapshot(self.policy)
        kls = []
        for _ in range(self.inner):
            dist = self.dist(obs)
            with torch.no_grad():
                anchor = Categorical(logits=functional_call(self.policy, previous, (obs,)))
            ratio = (dist.log_prob(act) - logp).exp()
            kl = kl_divergence(dist, anchor).mean()
            loss = -(ratio * adv).mean() + self.kl_coef * kl
            self.pi_opt.zero_grad()
            loss.backward()
            self.pi_opt.step()
            kls.append(kl.item())
        return kls[-1]

    def fit_value(self, obs, ret):
        for _ in range(self.inner):
            loss = (self.value(obs) - ret).square().mean()
            self.v_opt.zero_grad()
            loss.backward()
            self.v_opt.step()
        return loss.item()


def main():
    torch.manual_seed(8)
    env, algo = TaxiLine(), MDPO()
    obs = env.obs()
    for it in range(20):
        rows = []
        with torch.no_grad():
            for _ in range(8):
                d = algo.dist(obs)
                a = d.sample()
                nxt, r = env.step(a)
                rows.append((obs, a, d.log_prob(a), r))
                obs = nxt
            run, rets = algo.value(obs), []
            for _, _, _, r in reversed(rows):
                run = r + algo.gamma * run
                rets.append(run)
            o, a, lp = (torch.cat([row[k] for row in rows]) for k in range(3))
            ret = torch.cat(rets[::-1])
            adv = ret - algo.value(o)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        kl = algo.improve(o, a, lp, adv)
        v_loss = algo.fit_value(o, ret)
        if it % 5 == 4:
            reward = torch.cat([row[3] for row in rows]).mean()
            print(f"iter {it} reward {reward:.3f} kl {kl:.2e} value loss {v_loss:.3f}")


if __name__ == "__main__":
    main()

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class REDQ:
    def __init__(self, obs_dim, act_dim, n_critics=4, alpha=0.05, gamma=0.95, lr=1e-3):
        self.alpha, self.gamma = alpha, gamma
        self.actor = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU(), nn.Linear(32, 2 * act_dim))
        build = lambda: nn.Sequential(nn.Linear(obs_dim + act_dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.critics = [build() for _ in range(n_critics)]
        self.targets = [build() for _ in range(n_critics)]
        for c, t in zip(self.critics, self.targets):
            t.load_state_dict(c.state_dict())
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opts = [torch.optim.Adam(c.parameters(), lr=lr) for c in self.critics]

    def pi(self, obs):
        mu, log_std = self.actor(obs).chunk(2, -1)
        std = log_std.clamp(-5, 1).exp()
        eps = torch.randn_like(mu)
        pre = mu + std * eps
        logp = (-0.5 * eps**2 - log_std.clamp(-5, 1) - 0.919).sum(-1)
        logp = logp - (2 * (np.log(2) - pre - F.softplus(-2 * pre))).sum(-1)
        return torch.tanh(pre), logp

    def ensemble_q(self, obs, act):
        x = torch.cat([obs, act], -1)
        qs = [c(x).squeeze(-1) for c in self.critics]
        return torch.stack(qs).mean(0)

    def update_critics(self, obs, act, rew, nxt):
        with torch.no_grad():
            a2, lp2 = self.pi(nxt)
            x2 = torch.cat([nxt, a2], -1)
            pick = np.random.choice(len(self.targets), 2, replace=False)
            q2 = torch.min(*[self.targets[i](x2).squeeze(-1) for i in pick])
            y = rew + self.gamma * (q2 - self.alpha * lp2)
        x = torch.cat([obs, act], -1)
        for c, t, opt in zip(self.critics, self.targets, self.critic_opts):
            loss = F.mse_loss(c(x).squeeze(-1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, tp in zip(c.parameters(), t.parameters()):
                    tp.mul_(0.98).add_(0.02 * p)
        return loss.item()

    def update_actor(self, obs):
        act, logp = self.pi(obs)
        loss = (self.alpha * logp - self.ensemble_q(obs, act)).mean()
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        return loss.item()


def env_step(x, a):
    x2 = np.clip(0.9 * x + 0.4 * a, -2, 2)
    return x2.astype(np.float32), float(-(x2**2).sum() - 0.05 * (a**2).sum())


if __name__ == "__main__":
    np.random.seed(1)
    torch.manual_seed(1)
    agent = REDQ(2, 2)
    mem, x = [], np.random.randn(2).astype(np.float32)
    for t in range(150):
        with torch.no_grad():
            a = agent.pi(torch.from_numpy(x)[None])[0][0].numpy()
        x2, r = env_step(x, a)
        mem.append((x, a, np.float32(r), x2))
        x = x2 if t % 25 else np.random.randn(2).astype(np.float32)
        if t >= 50 and t % 4 == 0:
            idx = np.random.randint(0, len(mem), 32)
            o, a_, r_, o2 = (torch.from_numpy(np.stack([mem[i][k] for i in idx])) for k in range(4))
            lc = agent.update_critics(o, a_, r_, o2)
            la = agent.update_actor(o)
            if t % 20 == 0:
                print(f"t={t} critic {lc:.3f} actor {la:.3f} reward {r:.3f}")

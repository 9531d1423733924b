import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act, init_noise_std=0.8):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU(), nn.Linear(32, 1))
        self.std = nn.Parameter(init_noise_std * torch.ones(n_act))
        self.distribution = None

    def update_distribution(self, obs):
        mean = self.actor(obs)
        self.distribution = Normal(mean, mean * 0.0 + self.std)

    def act(self, obs):
        self.update_distribution(obs)
        return self.distribution.sample()

    def log_prob(self, actions):
        return self.distribution.log_prob(actions).sum(dim=-1)


class Storage:
    def __init__(self, steps, envs, n_obs, n_act):
        z = lambda *s: torch.zeros(steps, envs, *s)
        self.observations, self.actions, self.mu, self.sigma = z(n_obs), z(n_act), z(n_act), z(n_act)
        self.rewards, self.dones, self.values, self.logp = z(1), z(1), z(1), z(1)
        self.returns, self.advantages = z(1), z(1)
        self.step = 0

    def add(self, **row):
        for k, v in row.items():
            getattr(self, k)[self.step].copy_(v)
        self.step += 1

    def compute_returns(self, last_values, gamma, lam):
        advantage = 0
        for t in reversed(range(len(self.rewards))):
            nxt = last_values if t == len(self.rewards) - 1 else self.values[t + 1]
            alive = 1.0 - self.dones[t]
            delta = self.rewards[t] + alive * gamma * nxt - self.values[t]
            advantage = delta + alive * gamma * lam * advantage
            self.returns[t] = advantage + self.values[t]
        self.advantages = self.returns - self.values
        self.advantages = (self.advantages - self.advantages.mean()) / (self.advantages.std() + 1e-8)

    def mini_batches(self, n, epochs):
        flat = lambda x: x.flatten(0, 1)
        keys = ("observations", "actions", "values", "advantages", "returns", "logp", "mu", "sigma")
        tensors = [flat(getattr(self, k)) for k in keys]
        order = torch.randperm(len(tensors[0]))
        for _ in range(epochs):
            for idx in order.chunk(n):
                yield [t[idx] for t in tensors]


def step_env(x, a):
    x = 0.95 * x + 0.2 * torch.cat([a, -a], 1).clamp(-1, 1) + 0.05 * torch.randn_like(x)
    done = (torch.rand(len(x), 1) < 0.03).float()
    reward = torch.exp(-(x[:, :2] - 0.7).square().sum(1, keepdim=True))
    return torch.where(done.bool(), torch.randn_like(x), x), reward, done


def main(iters=20, desired_kl=0.01):
    torch.manual_seed(3)
    ac, storage, lr = ActorCritic(4, 2), Storage(16, 24, 4, 2), 1e-3
    optimizer = torch.optim.Adam(ac.parameters(), lr=lr)
    obs = torch.randn(24, 4)
    for it in range(iters):
        storage.step = 0
        for _ in range(16):
            actions = ac.act(obs).detach()
            values = ac.critic(obs).detach()
            logp = ac.log_prob(actions).detach().unsqueeze(-1)
            mu, sigma = ac.distribution.mean.detach(), ac.distribution.stddev.detach()
            nxt, r, d = step_env(obs, actions)
            storage.add(observations=obs, actions=actions, values=values, logp=logp, mu=mu, sigma=sigma, rewards=r, dones=d)
            obs = nxt
        storage.compute_returns(ac.critic(obs).detach(), 0.95, 0.95)
        for o, a, v_old, adv, ret, old, mu_old, sigma_old in storage.mini_batches(4, 4):
            ac.act(o)
            logp, value = ac.log_prob(a), ac.critic(o)
            mu, sigma = ac.distribution.mean, ac.distribution.stddev
            with torch.inference_mode():
                kl = torch.log(sigma / sigma_old + 1e-5) + (sigma_old.square() + (mu_old - mu).square()) / (2 * sigma.square()) - 0.5
                kl_mean = kl.sum(-1).mean()
                if kl_mean > desired_kl * 2.0:
                    lr = max(1e-5, lr / 1.5)
                elif desired_kl / 2.0 > kl_mean > 0.0:
                    lr = min(1e-2, lr * 1.5)
                for group in optimizer.param_groups:
                    group["lr"] = lr
            ratio = torch.exp(logp - torch.squeeze(old))
            surrogate = -torch.squeeze(adv) * ratio
            clipped = -torch.squeeze(adv) * torch.clamp(ratio, 0.8, 1.2)
            surrogate_loss = torch.max(surrogate, clipped).mean()
            v_clip = v_old + (value - v_old).clamp(-0.2, 0.2)
            value_loss = torch.max((value - ret).pow(2), (v_clip - ret).pow(2)).mean()
            loss = surrogate_loss + value_loss - 0.005 * ac.distribution.entropy().sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 1.0)
            optimizer.step()
        if it % 5 == 0:
            print(f"iter {it} reward {storage.rewards.mean():.3f} kl {kl_mean.item():.4f} lr {lr:.2e} std {ac.std.mean().item():.3f}")


if __name__ == "__main__":
    main()

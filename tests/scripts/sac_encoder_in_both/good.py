import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.set_num_threads(1)


@dataclass
class SACConfig:
    shared_encoder: bool = True
    latent_dim: int = 24
    hidden_dim: int = 48
    discount: float = 0.92
    temperature: float = 0.03
    critic_lr: float = 2e-3
    actor_lr: float = 2e-3
    tau: float = 0.02
    online_steps: int = 300
    batch_size: int = 32


class Reach:
    """Arm tip on a line, seen through an 8-pixel camera plus its own position."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.tip, self.cube, self.t = 0.0, self.rng.uniform(-0.9, 0.9), 0
        return self.obs()

    def obs(self):
        pixels = np.exp(-((np.linspace(-1, 1, 8) - self.cube) / 0.3) ** 2)
        return np.concatenate([pixels, [self.tip]]).astype(np.float32)

    def step(self, a):
        self.tip = float(np.clip(self.tip + 0.2 * a, -1, 1))
        self.t += 1
        return self.obs(), -abs(self.tip - self.cube), self.t >= 15


class ObservationEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(8, cfg.latent_dim), nn.Tanh())
        self.state = nn.Linear(1, cfg.latent_dim)

    def forward(self, obs):
        return torch.tanh(self.image(obs[..., :8]) + self.state(obs[..., 8:]))


class Critic(nn.Module):
    def __init__(self, cfg, encoder):
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(cfg.latent_dim + 1, cfg.hidden_dim), nn.Tanh(), nn.Linear(cfg.hidden_dim, 1))
            for _ in range(2))

    def forward(self, obs, act):
        x = torch.cat([self.encoder(obs), act], -1)
        return torch.cat([h(x) for h in self.heads], -1)


class Policy(nn.Module):
    def __init__(self, cfg, encoder):
        super().__init__()
        self.encoder = encoder
        self.net = nn.Sequential(nn.Linear(cfg.latent_dim, cfg.hidden_dim), nn.Tanh(), nn.Linear(cfg.hidden_dim, 2))

    def forward(self, obs):
        mean, log_std = self.net(self.encoder(obs).detach()).chunk(2, -1)
        dist = Normal(mean, log_std.clamp(-4, 1).exp())
        u = dist.rsample()
        logp = dist.log_prob(u) - 2 * (math.log(2) - u - F.softplus(-2 * u))
        return torch.tanh(u), logp


def make_optimizers(cfg, actor, critic):
    opt_critic = torch.optim.Adam(critic.parameters(), lr=cfg.critic_lr)
    opt_actor = torch.optim.Adam(actor.net.parameters(), lr=cfg.actor_lr)
    return opt_actor, opt_critic


def train(cfg=SACConfig()):
    rng = np.random.default_rng(9)
    torch.manual_seed(9)
    encoder_critic = ObservationEncoder(cfg)
    encoder_actor = encoder_critic if cfg.shared_encoder else ObservationEncoder(cfg)
    critic, actor = Critic(cfg, encoder_critic), Policy(cfg, encoder_actor)
    critic_target = Critic(cfg, ObservationEncoder(cfg))
    critic_target.load_state_dict(critic.state_dict())
    opt_actor, opt_critic = make_optimizers(cfg, actor, critic)
    env, buf, obs, ret = Reach(rng), [], None, 0.0
    obs = env.reset()
    for step in range(cfg.online_steps):
        with torch.no_grad():
            a = actor(torch.from_numpy(obs))[0].numpy()
        nxt, r, done = env.step(float(a[0]))
        buf.append((obs, a, np.array([r], np.float32), nxt))
        obs, ret = nxt, ret + r
        if done:
            if step % 60 == 59:
                print(f"step {step} return {ret:.3f}")
            obs, ret = env.reset(), 0.0
        if step < 60 or step % 2:
            continue
        o, act, rew, o2 = (torch.tensor(np.array(c)) for c in zip(*[buf[i] for i in rng.integers(0, len(buf), cfg.batch_size)]))
        with torch.no_grad():
            a2, lp2 = actor(o2)
            y = rew + cfg.discount * (critic_target(o2, a2).min(-1, keepdim=True).values - cfg.temperature * lp2)
        loss_critic = F.mse_loss(critic(o, act), y.expand(-1, 2))
        opt_critic.zero_grad()
        loss_critic.backward()
        opt_critic.step()
        pi, lp = actor(o)
        loss_actor = (cfg.temperature * lp - critic(o, pi).min(-1, keepdim=True).values).mean()
        opt_actor.zero_grad()
        loss_actor.backward()
        opt_actor.step()
        with torch.no_grad():
            for p, tp in zip(critic.parameters(), critic_target.parameters()):
                tp.lerp_(p, cfg.tau)


if __name__ == "__main__":
    train()

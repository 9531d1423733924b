"""A2C with an intrinsic curiosity module: the inverse model shapes the features, the forward model reads them."""
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

torch.set_num_threads(1)


class RoomWorld:
    """Agents in a continuous room; the observation carries the position and two noise channels."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.n = n
        self.xy = torch.zeros(n, 2)
        self.dirs = torch.tensor([[0.0, 1], [0, -1], [1, 0], [-1, 0]])

    def obs(self):
        return torch.cat([self.xy, torch.randn(self.n, 2, generator=self.g)], 1)

    def step(self, a):
        self.xy = (self.xy + 0.25 * self.dirs[a] + 0.02 * torch.randn(self.n, 2, generator=self.g)).clamp(-1, 1)
        near = (self.xy - torch.tensor([0.8, 0.8])).norm(dim=1) < 0.4
        warmth = 0.1 * self.xy.sum(1)
        done = near | (torch.rand(self.n, generator=self.g) < 0.05)
        nxt = self.obs()
        self.xy = torch.where(done[:, None], torch.zeros_like(self.xy), self.xy)
        return nxt, near.float() + warmth, done.float()


class ICM(nn.Module):
    def __init__(self, obs=4, n_act=4, feat=16):
        super().__init__()
        self.n_act = n_act
        self.encoder = nn.Sequential(nn.Linear(obs, 32), nn.ELU(), nn.Linear(32, feat))
        self.inverse = nn.Sequential(nn.Linear(2 * feat, 32), nn.ELU(), nn.Linear(32, n_act))
        self.forward_model = nn.Sequential(nn.Linear(feat + n_act, 32), nn.ELU(), nn.Linear(32, feat))

    def forward(self, s, a, s2):
        phi, phi2 = self.encoder(s), self.encoder(s2)
        logits = self.inverse(torch.cat([phi, phi2], 1))
        onehot = F.one_hot(a, self.n_act).float()
        pred = self.forward_model(torch.cat([phi.detach(), onehot], 1))
        forward_error = 0.5 * (pred - phi2.detach()).pow(2).mean(1)
        return F.cross_entropy(logits, a), forward_error


class Agent(nn.Module):
    def __init__(self, obs=4, n_act=4):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, s):
        return Categorical(logits=self.actor(s))

    def value(self, s):
        return self.critic(s).squeeze(-1)


def collect(env, agent, obs, horizon):
    rows = []
    for _ in range(horizon):
        with torch.no_grad():
            a = agent.dist(obs).sample()
        nxt, r, d = env.step(a)
        rows.append((obs, a, r, nxt, d))
        obs = env.obs()
    return [torch.stack(c) for c in zip(*rows)], obs


def n_step(rewards, dones, bootstrap, gamma):
    out, run = torch.empty_like(rewards), bootstrap
    for t in range(len(rewards) - 1, -1, -1):
        run = rewards[t] + gamma * (1 - dones[t]) * run
        out[t] = run
    return out


def main(updates=35, horizon=10, eta=0.5, gamma=0.9):
    torch.manual_seed(0)
    env, agent, icm = RoomWorld(12), Agent(), ICM()
    opt = torch.optim.Adam([{"params": agent.parameters(), "lr": 5e-3}, {"params": icm.parameters(), "lr": 2e-3}])
    obs = env.obs()
    for u in range(updates):
        (S, A, R, S2, D), obs = collect(env, agent, obs, horizon)
        inverse_loss, forward_error = icm(S.flatten(0, 1), A.flatten(), S2.flatten(0, 1))
        intrinsic = (eta * forward_error).detach().view_as(R)
        with torch.no_grad():
            returns = n_step(R + intrinsic, D, agent.value(S2[-1]), gamma)
        dist, value = agent.dist(S), agent.value(S)
        adv = returns - value
        policy_loss = -(dist.log_prob(A) * adv.detach()).mean()
        value_loss = adv.pow(2).mean()
        curiosity_loss = 0.8 * inverse_loss + 0.2 * forward_error.mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean() + curiosity_loss
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*agent.parameters(), *icm.parameters()], 5.0)
        opt.step()
        if u % 7 == 0:
            print(f"update {u} ext {R.mean():.3f} int {intrinsic.mean():.4f} inverse {inverse_loss.item():.3f} value {value_loss.item():.3f}")


main()

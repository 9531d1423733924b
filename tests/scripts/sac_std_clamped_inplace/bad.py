# pathwise policy on a 2D reaching task, everything on one page
import torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)


class GaussianActor(nn.Module):
    def __init__(self, n_obs, n_act, std_bounds=(0.05, 1.5)):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_obs, 40), nn.LeakyReLU(), nn.Linear(40, 40), nn.LeakyReLU())
        self.mean, self.log_std = nn.Linear(40, n_act), nn.Linear(40, n_act)
        self.std_bounds = std_bounds

    def forward(self, obs):
        h = self.shared(obs)
        std = self.log_std(h).exp()
        std.clamp_(*self.std_bounds)  # <- culprit
        d = Normal(self.mean(h), std)
        u = d.rsample()
        a = torch.tanh(u)
        logp = (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return a, logp


class Critic(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n_obs + n_act, 40), nn.LeakyReLU(), nn.Linear(40, 1))

    def forward(self, o, a):
        return self.f(torch.cat((o, a), -1))


class Reach:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.p = torch.rand(self.n, 2) * 2 - 1
        self.g = torch.rand(self.n, 2) * 2 - 1
        return torch.cat((self.p, self.g), 1)

    def step(self, a):
        self.p = (self.p + 0.25 * a).clamp(-1, 1)
        return torch.cat((self.p, self.g), 1), -(self.p - self.g).norm(dim=1, keepdim=True)


def polyak(src, dst, tau=0.02):
    with torch.no_grad():
        for a, b in zip(src.parameters(), dst.parameters()):
            b += tau * (a - b)


if __name__ == "__main__":
    torch.manual_seed(12)
    env = Reach(16)
    actor, critic, target = GaussianActor(4, 2), Critic(4, 2), Critic(4, 2)
    target.load_state_dict(critic.state_dict())
    opt_a = torch.optim.Adam(actor.parameters(), 2e-3)
    opt_c = torch.optim.Adam(critic.parameters(), 2e-3)
    alpha, gamma = 0.05, 0.9
    for episode in range(5):
        obs = env.reset()
        for t in range(8):
            with torch.no_grad():
                act, _ = actor(obs)
            nxt, rew = env.step(act)
            with torch.no_grad():
                na, nlp = actor(nxt)
                y = rew + gamma * (target(nxt, na) - alpha * nlp)
            lc = F.mse_loss(critic(obs, act), y)
            opt_c.zero_grad(); lc.backward(); opt_c.step()
            pa, plp = actor(obs)
            la = (alpha * plp - critic(obs, pa)).mean()
            opt_a.zero_grad(); la.backward(); opt_a.step()
            polyak(critic, target)
            obs = nxt
        print(f"episode {episode} reward {rew.mean().item():.3f} critic {lc.item():.4f} actor {la.item():.4f}")

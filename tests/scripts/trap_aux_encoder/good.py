import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Rooms:
    def __init__(self, n):
        self.n = n
        self.pos = torch.zeros(n, 2, dtype=torch.long)

    def obs(self):
        img = torch.zeros(self.n, 25)
        img[torch.arange(self.n), self.pos[:, 0] * 5 + self.pos[:, 1]] = 1
        return img + 0.05 * torch.randn(self.n, 25)

    def step(self, a):
        move = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])[a]
        self.pos = (self.pos + move).clamp(0, 4)
        at_goal = (self.pos == 4).all(1)
        self.pos = torch.where(at_goal[:, None], torch.zeros_like(self.pos), self.pos)
        return self.obs(), at_goal.float()


class Agent(nn.Module):
    def __init__(self, z=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(25, 48), nn.ReLU(), nn.Linear(48, z), nn.Tanh())
        self.pi, self.v = nn.Linear(z, 4), nn.Linear(z, 1)
        self.inverse = nn.Sequential(nn.Linear(2 * z, 32), nn.ReLU(), nn.Linear(32, 4))
        self.forward_model = nn.Sequential(nn.Linear(z + 4, 32), nn.ReLU(), nn.Linear(32, z))
        self.decoder = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, 25))

    def curiosity(self, o, a, o2):
        z, z2 = self.encoder(o), self.encoder(o2)
        guess = self.forward_model(torch.cat([z.detach(), F.one_hot(a, 4).float()], 1))
        fwd = (guess - z2.detach()).pow(2).mean(1)
        inv = F.cross_entropy(self.inverse(torch.cat([z, z2], 1)), a)
        rec = F.mse_loss(self.decoder(z), o)
        return fwd, inv, rec


def main():
    torch.manual_seed(15)
    env, agent = Rooms(24), Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=2e-3)
    o = env.obs()
    for k in range(130):
        obs, acts, rews = [o], [], []
        for _ in range(6):
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=agent.pi(agent.encoder(o))).sample()
            o, r = env.step(a)
            obs.append(o), acts.append(a), rews.append(r)
        flat, nxt, act = torch.cat(obs[:-1]), torch.cat(obs[1:]), torch.cat(acts)
        fwd, inv, rec = agent.curiosity(flat, act, nxt)
        bonus = 0.5 * fwd.detach()
        reward = torch.stack(rews) + bonus.view(6, -1)
        with torch.no_grad():
            g = agent.v(agent.encoder(o)).squeeze(1)
        rets = []
        for t in reversed(range(6)):
            g = reward[t] + 0.95 * g
            rets.insert(0, g)
        ret = torch.cat(rets)
        z = agent.encoder(flat)
        dist, value = torch.distributions.Categorical(logits=agent.pi(z)), agent.v(z).squeeze(1)
        a2c = -((ret - value).detach() * dist.log_prob(act)).mean() + 0.5 * F.mse_loss(value, ret) - 0.02 * dist.entropy().mean()
        loss = a2c + 0.2 * inv + 0.2 * fwd.mean() + 0.5 * rec
        opt.zero_grad()
        loss.backward()
        opt.step()
        if k % 26 == 25:
            print(f"k {k} goals {torch.stack(rews).mean():.3f} inv {inv.item():.3f} fwd {fwd.mean().item():.4f} rec {rec.item():.4f}")


if __name__ == "__main__":
    main()

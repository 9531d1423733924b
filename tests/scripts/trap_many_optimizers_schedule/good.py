import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Parts(nn.Module):
    def __init__(self, o=4, a=1, z=12):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(o, 32), nn.ReLU(), nn.Linear(32, z), nn.Tanh())
        self.dynamics = nn.Sequential(nn.Linear(z + a, 32), nn.ReLU(), nn.Linear(32, z))
        self.actor = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, a), nn.Tanh())
        self.q = nn.Sequential(nn.Linear(z + a, 32), nn.ReLU(), nn.Linear(32, 1))
        self.decoder = nn.Linear(z, o)


class Drone:
    def __init__(self, n=8):
        self.n = n

    def reset(self):
        self.x, self.g = torch.rand(self.n, 2), torch.rand(self.n, 2)
        return torch.cat([self.x, self.g], 1)

    def step(self, a):
        self.x = torch.stack([self.x[:, 0] + 0.1 * a[:, 0], self.x[:, 1] * 0.95], 1).clamp(-1, 2)
        return torch.cat([self.x, self.g], 1), -(self.x[:, :1] - self.g[:, :1]).abs()


def main():
    torch.manual_seed(0)
    net, env = Parts(), Drone()
    lrs = {"encoder": 1e-3, "dynamics": 2e-3, "actor": 1e-3, "q": 2e-3, "decoder": 1e-3}
    opts = {k: torch.optim.Adam(getattr(net, k).parameters(), lr=v) for k, v in lrs.items()}
    mem, obs = [], env.reset()
    for t in range(120):
        with torch.no_grad():
            act = (net.actor(net.encoder(obs)) + 0.3 * torch.randn(env.n, 1)).clamp(-1, 1)
        nxt, rew = env.step(act)
        mem.append((obs, act, rew, nxt))
        obs = nxt if t % 10 != 9 else env.reset()
        if t < 20 or t % 2:
            continue
        idx = torch.randint(len(mem), (4,)).tolist()
        o, a, r, o2 = (torch.cat([mem[i][k] for i in idx]) for k in range(4))
        z = net.encoder(o)
        with torch.no_grad():
            z2 = net.encoder(o2)
            y = r + 0.9 * net.q(torch.cat([z2, net.actor(z2)], 1))
        q_loss = F.mse_loss(net.q(torch.cat([z, a], 1)), y)
        model_loss = F.mse_loss(net.dynamics(torch.cat([z, a], 1)), z2)
        recon = F.mse_loss(net.decoder(z), o)
        for k in ("encoder", "q", "dynamics", "decoder"):
            opts[k].zero_grad()
        (q_loss + model_loss + recon).backward()
        for k in ("encoder", "q", "dynamics"):
            opts[k].step()
        if t % 4 == 0:
            opts["decoder"].step()
        if t % 6 == 0:
            z = net.encoder(o).detach()
            actor_loss = -net.q(torch.cat([z, net.actor(z)], 1)).mean()
            opts["actor"].zero_grad()
            actor_loss.backward()
            opts["actor"].step()
            if t % 30 == 0:
                print(f"t {t} q {q_loss.item():.4f} model {model_loss.item():.4f} actor {actor_loss.item():+.3f}")


if __name__ == "__main__":
    main()

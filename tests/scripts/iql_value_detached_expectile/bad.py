import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)

config = dict(obs=4, act=2, tau=0.7, beta=3.0, gamma=0.95, lr=1e-3, steps=40, batch=48)


def offline_data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(n, 4)).astype("float32")
    act = np.clip(rng.normal(size=(n, 2)), -1, 1).astype("float32")
    nxt = (0.8 * obs + 0.3 * np.tile(act, 2)).astype("float32")
    rew = -np.square(nxt).mean(1).astype("float32")
    term = (rng.random(n) < 0.05).astype("float32")
    return [torch.from_numpy(x) for x in (obs, act, rew, nxt, term)]


class IQL:
    def __init__(self, cfg):
        self.cfg = cfg
        o, a = cfg["obs"], cfg["act"]
        self.q = nn.Sequential(nn.Linear(o + a, 48), nn.ReLU(), nn.Linear(48, 1))
        self.q_target = nn.Sequential(nn.Linear(o + a, 48), nn.ReLU(), nn.Linear(48, 1))
        self.q_target.load_state_dict(self.q.state_dict())
        self.v = nn.Sequential(nn.Linear(o, 48), nn.ReLU(), nn.Linear(48, 1))
        self.pi = nn.Sequential(nn.Linear(o, 48), nn.ReLU(), nn.Linear(48, a))
        self.opt = torch.optim.Adam([*self.q.parameters(), *self.v.parameters(), *self.pi.parameters()], lr=cfg["lr"])

    def losses(self, obs, act, rew, nxt, term):
        cfg = self.cfg
        x = torch.cat([obs, act], 1)
        with torch.no_grad():
            tq = self.q_target(x).squeeze(1)
            next_v = self.v(nxt).squeeze(1)
        v = self.v(obs).squeeze(1).detach()  # <- culprit
        diff = tq - v
        weight = torch.where(diff > 0, cfg["tau"], 1 - cfg["tau"])
        v_loss = (weight * diff.pow(2)).mean()
        backup = rew + cfg["gamma"] * (1 - term) * next_v
        q_loss = (self.q(x).squeeze(1) - backup).pow(2).mean()
        adv = (cfg["beta"] * diff.detach()).exp().clamp(max=20.0)
        pi_loss = (adv * (self.pi(obs) - act).pow(2).sum(1)).mean()
        return {"v": v_loss, "q": q_loss, "pi": pi_loss}

    def step(self, batch):
        parts = self.losses(*batch)
        total = sum(parts.values())
        self.opt.zero_grad()
        total.backward()
        self.opt.step()
        with torch.no_grad():
            for p, tp in zip(self.q.parameters(), self.q_target.parameters()):
                tp.lerp_(p, 0.01)
        return {k: round(x.item(), 4) for k, x in parts.items()}


if __name__ == "__main__":
    torch.manual_seed(0)
    data, agent = offline_data(), IQL(config)
    gen = torch.Generator().manual_seed(1)
    for i in range(config["steps"]):
        idx = torch.randint(0, 400, (config["batch"],), generator=gen)
        log = agent.step([x[idx] for x in data])
        if i % 10 == 0:
            print(i, log)

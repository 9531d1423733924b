import torch
import torch.nn as nn

torch.set_num_threads(1)
OBS, ACT, HEADS, HORIZON = 3, 1, 4, 6


class Spring:
    def __init__(self, n=16):
        self.n = n
        self.reset()

    def reset(self):
        self.x, self.v = torch.rand(self.n) * 2 - 1, torch.zeros(self.n)
        return self.obs()

    def obs(self):
        return torch.stack([self.x, self.v, (3 * self.x).sin()], dim=1)

    def step(self, u):
        force = 1.5 * u.squeeze(1).clamp(-1, 1) - self.x - 0.3 * (3 * self.x).sin()
        self.v = 0.95 * self.v + 0.1 * force
        self.x = self.x + 0.1 * self.v
        return self.obs()


def make_models():
    encoder = nn.Sequential(nn.Linear(OBS + ACT, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
    heads = nn.ModuleList(nn.Linear(48, 2 * OBS) for _ in range(HEADS))
    return encoder, heads


def gaussian_nll(out, target):
    mean, raw = out.chunk(2, dim=-1)
    log_var = 3.0 * torch.tanh(raw / 3.0) - 2.0
    return ((mean - target).pow(2) * torch.exp(-log_var) + log_var).mean()


def fit(encoder, heads, opt, obs, act, nxt, steps=30):
    for _ in range(steps):
        idx = torch.randint(0, len(obs), (128,))
        inputs = torch.cat([obs[idx], act[idx]], dim=1)
        delta = (nxt[idx] - obs[idx]) * 10.0
        features = encoder(inputs)  # <- culprit
        opt.zero_grad()
        losses = []
        for head in heads:
            keep = torch.rand(len(idx)) < 0.8
            loss = gaussian_nll(head(features)[keep], delta[keep])
            loss.backward()
            losses.append(loss.item())
        opt.step()
    return sum(losses) / HEADS


@torch.no_grad()
def mpc(encoder, heads, obs, candidates=32):
    n = len(obs)
    state = obs.repeat_interleave(candidates, 0)
    plan = torch.rand(HORIZON, n * candidates, ACT) * 2 - 1
    cost = torch.zeros(n * candidates)
    for u in plan:
        feats = encoder(torch.cat([state, u], dim=1))
        mean = torch.stack([h(feats)[:, :OBS] for h in heads]).mean(0)
        state = state + mean / 10.0
        cost += (state[:, 0] - 0.5).pow(2)
    best = cost.view(n, candidates).argmin(1)
    return plan[0].view(n, candidates, ACT)[torch.arange(n), best]


def main():
    torch.manual_seed(0)
    env = Spring()
    encoder, heads = make_models()
    opt = torch.optim.Adam([*encoder.parameters(), *heads.parameters()], lr=3e-3)
    data = []
    for episode in range(6):
        obs, err = env.reset(), 0.0
        for _ in range(15):
            act = mpc(encoder, heads, obs) if episode else torch.rand(env.n, ACT) * 2 - 1
            nxt = env.step(act)
            data.append((obs, act, nxt))
            obs, err = nxt, err + (nxt[:, 0] - 0.5).abs().mean().item() / 15
        loss = fit(encoder, heads, opt, *(torch.cat(c) for c in zip(*data)))
        print(f"episode {episode} tracking error {err:.3f} nll {loss:.3f}")


if __name__ == "__main__":
    main()

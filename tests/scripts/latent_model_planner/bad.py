import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
OBS, ACT, LATENT, H = 6, 1, 12, 4


class LatentModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(OBS, 48), nn.Tanh(), nn.Linear(48, LATENT))
        self.dynamics = nn.Sequential(nn.Linear(LATENT + ACT, 48), nn.Tanh(), nn.Linear(48, LATENT))
        self.reward = nn.Sequential(nn.Linear(LATENT + ACT, 48), nn.Tanh(), nn.Linear(48, 1))

    def encode(self, obs):
        return self.encoder(obs)

    def advance(self, z, a):
        za = torch.cat([z, a], dim=-1)
        return z + self.dynamics(za), self.reward(za).squeeze(-1)


class Mixer:
    """Hidden two-dimensional oscillator seen through a random linear camera."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.camera = self.rng.normal(size=(2, OBS)).astype(np.float32)

    def reset(self):
        self.x = self.rng.uniform(-1, 1, 2).astype(np.float32)
        return self.x @ self.camera

    def step(self, a):
        p, v = self.x
        v = 0.95 * v - 0.2 * p + 0.3 * float(np.clip(a, -1, 1))
        self.x = np.array([p + 0.2 * v, v], dtype=np.float32)
        return self.x @ self.camera, float(1.0 - (p - 0.5) ** 2)


@torch.no_grad()
def plan(model, obs, n=48):
    z = model.encode(torch.as_tensor(obs)).expand(n, LATENT)
    seqs = torch.rand(H, n, ACT) * 2 - 1
    total = torch.zeros(n)
    for a in seqs:
        z, r = model.advance(z, a)
        total += r
    return seqs[0, total.argmax()].item()


def model_loss(model, obs, act, rew):
    latents = model.encode(obs[:, 0])
    targets = model.encode(obs[:, 1:].reshape(-1, OBS))
    for t in (latents, targets):
        t.detach_()  # <- culprit
    targets = targets.view(-1, H, LATENT)
    z, consistency, reward = latents, 0.0, 0.0
    for k in range(H):
        z, r_hat = model.advance(z, act[:, k])
        consistency = consistency + F.mse_loss(z, targets[:, k])
        reward = reward + F.mse_loss(r_hat, rew[:, k])
    return reward / H + 0.5 * consistency / H


def windows(episode):
    for s in range(len(episode) - H):
        chunk = episode[s:s + H + 1]
        yield (np.stack([c[0] for c in chunk]), np.array([[c[1]] for c in chunk[:H]], dtype=np.float32),
               np.array([c[2] for c in chunk[:H]], dtype=np.float32))


def main():
    torch.manual_seed(1)
    env, model, store = Mixer(seed=1), LatentModel(), []
    opt = torch.optim.Adam([
        {"params": model.encoder.parameters(), "lr": 1e-3},
        {"params": model.dynamics.parameters()},
        {"params": model.reward.parameters()},
    ], lr=3e-3)
    for ep in range(16):
        obs, episode, ret = env.reset(), [], 0.0
        for _ in range(20):
            a = plan(model, obs) if ep > 2 else env.rng.uniform(-1, 1)
            nxt, r = env.step(a)
            episode.append((obs, a, r))
            obs, ret = nxt, ret + r
        store.extend(windows(episode))
        for _ in range(15):
            rows = [store[i] for i in env.rng.integers(0, len(store), 32)]
            o, a, r = (torch.from_numpy(np.stack(c)) for c in zip(*rows))
            loss = model_loss(model, o, a, r)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 5 == 0:
            print(f"episode {ep} return {ret:.2f} model loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

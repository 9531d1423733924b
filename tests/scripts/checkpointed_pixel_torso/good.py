import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential

torch.set_num_threads(1)


class Quadrants:
    """A bright patch appears in one of four quadrants among distractors; name the quadrant."""

    def __init__(self, n, seed):
        self.n = n
        self.rng = np.random.default_rng(seed)

    def observe(self):
        self.answer = self.rng.integers(0, 4, self.n)
        img = self.rng.normal(0, 0.15, (self.n, 1, 10, 10)).astype(np.float32)
        for k, q in enumerate(self.answer):
            y, x = 5 * (q // 2) + self.rng.integers(0, 3), 5 * (q % 2) + self.rng.integers(0, 3)
            img[k, 0, y:y + 3, x:x + 3] += 1.0
        return torch.from_numpy(img)

    def reward(self, a):
        return torch.from_numpy((a.numpy() == self.answer).astype(np.float32))


class PixelAgent(nn.Module):
    def __init__(self, segments=2):
        super().__init__()
        self.torso = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(64, 32), nn.ReLU(),
        )
        self.pi = nn.Linear(32, 4)
        self.v = nn.Linear(32, 1)
        self.segments = segments

    def features(self, img):
        if self.training and torch.is_grad_enabled():
            return checkpoint_sequential(self.torso, self.segments, img, use_reentrant=False)
        return self.torso(img)

    def forward(self, img):
        z = self.features(img)
        return torch.distributions.Categorical(logits=self.pi(z)), self.v(z).squeeze(1)


def main(updates=40):
    torch.manual_seed(0)
    env, agent = Quadrants(48, 0), PixelAgent()
    opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
    running = 0.25
    for u in range(updates):
        img = env.observe()
        with torch.no_grad():
            action = agent(img)[0].sample()
        reward = env.reward(action)
        dist, value = agent(img)
        adv = reward - value.detach()
        loss = -(dist.log_prob(action) * adv).mean() + 0.5 * F.mse_loss(value, reward) - 0.01 * dist.entropy().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        running = 0.9 * running + 0.1 * reward.mean().item()
        if u % 8 == 7:
            print(f"update {u + 1:3d} accuracy {running:.3f} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()

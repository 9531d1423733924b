import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tools import STATS, measured

torch.set_num_threads(1)


class Dodge:
    """A stone falls on an 8x8 screen, step out of the way or lose a point."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.x = 4
        self.spawn()

    def spawn(self):
        self.col, self.row = self.rng.integers(8), 0

    def frame(self):
        img = np.zeros((1, 8, 8), dtype=np.float32)
        img[0, self.row, self.col] = 1.0
        img[0, 7, self.x] = 0.5
        return img

    def step(self, a):
        self.x = int(np.clip(self.x + a - 1, 0, 7))
        self.row += 1
        done = self.row == 7
        reward = 0.0
        if done:
            reward = -1.0 if abs(self.x - self.col) <= 1 else 0.5
        out = self.frame(), reward, done
        if done:
            self.spawn()
        return out


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, stride=2, padding=1)
        self.head = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 3))

    @measured("encode")  # <- culprit
    def encode(self, img):
        return F.relu(self.conv2(F.relu(self.conv1(img)))).flatten(1)

    def forward(self, img):
        return self.head(self.encode(img))


@measured("draw")
def draw(memory, rng, n=32):
    rows = [memory[i] for i in rng.integers(0, len(memory), n)]
    s, a, r, s2, d = zip(*rows)
    as_f = lambda c: torch.tensor(np.array(c), dtype=torch.float32)
    return as_f(s), torch.tensor(a), as_f(r), as_f(s2), as_f(d)


def main():
    rng = np.random.default_rng(9)
    torch.manual_seed(9)
    env, online = Dodge(9), QNet()
    target = copy.deepcopy(online).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=1e-3)
    memory, img, rewards = [], env.frame(), []
    for step in range(400):
        with torch.no_grad():
            a = int(online(torch.from_numpy(img)[None]).argmax()) if rng.random() > 0.4 else int(rng.integers(3))
        nxt, r, done = env.step(a)
        memory.append((img, a, r, nxt, float(done)))
        img = env.frame() if done else nxt
        rewards.append(r)
        if step >= 100 and step % 6 == 0:
            s, a, r, s2, d = draw(memory, rng)
            with torch.no_grad():
                best = online(s2).argmax(1, keepdim=True)
                y = r + 0.9 * (1 - d) * target(s2).gather(1, best).squeeze(1)
            loss = F.mse_loss(online(s).gather(1, a[:, None]).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            for p, t in zip(online.parameters(), target.parameters()):
                t.data.lerp_(p.data, 0.1)
        if step % 100 == 99:
            print(f"step {step + 1} reward {np.sum(rewards[-100:]):+.1f} encode calls {STATS['encode'][0]}")


if __name__ == "__main__":
    main()

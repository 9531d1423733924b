"""Random network distillation in a small maze. The random target is an ordinary module that nobody trains."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)

MAZE = ["#######",
        "#S..#.#",
        "#.#.#.#",
        "#.#...#",
        "#.###.#",
        "#....G#",
        "#######"]


class Maze:
    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self):
        self.wall = np.array([[c == "#" for c in row] for row in MAZE])
        self.reset()

    def reset(self):
        self.y, self.x, self.t = 1, 1, 0
        return self.obs()

    def obs(self):
        o = np.zeros((7, 7), np.float32)
        o[self.y, self.x] = 1.0
        return o.ravel()

    def step(self, a):
        dy, dx = self.MOVES[a]
        if not self.wall[self.y + dy, self.x + dx]:
            self.y, self.x = self.y + dy, self.x + dx
        self.t += 1
        win = MAZE[self.y][self.x] == "G"
        return self.obs(), float(win) + 0.03 * (self.y + self.x - 2), win or self.t >= 40


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(49, 48), nn.Tanh())
        self.pi = nn.Linear(48, 4)
        self.v_ext, self.v_int = nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, x):
        z = self.body(x)
        return Categorical(logits=self.pi(z)), self.v_ext(z).squeeze(-1), self.v_int(z).squeeze(-1)


class RND(nn.Module):
    def __init__(self):
        super().__init__()
        self.target = nn.Sequential(nn.Linear(49, 64), nn.Tanh(), nn.Linear(64, 16))
        self.predictor = nn.Sequential(nn.Linear(49, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 16))

    def forward(self, x):
        return self.predictor(x), self.target(x)

    def bonus(self, x):
        pred, tgt = self(x)
        return (tgt - pred).pow(2).mean(-1).detach()


def discounted(rewards, dones, last, gamma):
    out, run = np.zeros(len(rewards), np.float32), last
    for t in reversed(range(len(rewards))):
        run = rewards[t] + gamma * run * (1 - dones[t])
        out[t] = run
    return torch.from_numpy(out)


def main():
    torch.manual_seed(0)
    env, ac, rnd = Maze(), ActorCritic(), RND()
    optimizer = torch.optim.Adam([*ac.parameters(), *rnd.predictor.parameters()], lr=6e-3)
    obs, running, visited = env.reset(), None, set()
    for update in range(30):
        O, A, R, D, N = [], [], [], [], []
        for _ in range(60):
            with torch.no_grad():
                a = ac(torch.from_numpy(obs)[None])[0].sample().item()
            O.append(obs)
            obs, r, done = env.step(a)
            visited.add((env.y, env.x))
            A.append(a), R.append(r), D.append(float(done)), N.append(obs)
            if done:
                obs = env.reset()
        O, A, N = torch.tensor(np.array(O)), torch.tensor(A), torch.tensor(np.array(N))
        bonus = rnd.bonus(N).numpy()
        scale = float(bonus.mean()) + 1e-8
        running = scale if running is None else 0.8 * running + 0.2 * scale
        with torch.no_grad():
            _, le, li = ac(N[-1:])
        ret_ext = discounted(R, D, le.item(), 0.9)
        ret_int = discounted(bonus / running, np.zeros(60), li.item(), 0.8)

        dist, v_ext, v_int = ac(O)
        adv = (ret_ext - v_ext) + 0.5 * (ret_int - v_int)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg_loss = -(dist.log_prob(A) * adv.detach()).mean()
        v_loss = F.mse_loss(v_ext, ret_ext) + F.mse_loss(v_int, ret_int)
        pred, tgt = rnd(N)
        keep = (torch.rand(len(N)) < 0.5).float()
        rnd_loss = (F.mse_loss(pred, tgt, reduction="none").mean(-1) * keep).sum() / keep.sum().clamp(min=1)
        loss = pg_loss + 0.5 * v_loss - 0.02 * dist.entropy().mean() + rnd_loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        optimizer.step()
        if update % 6 == 0:
            print(f"update {update} cells {len(visited)} bonus {bonus.mean():.4f} rnd {rnd_loss.item():.4f} v {v_loss.item():.3f}")


if __name__ == "__main__":
    main()

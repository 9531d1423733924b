import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
EPS = 0.3


def grid_obs(pos, goal, n=5):
    o = np.zeros((len(pos), 4), np.float32)
    o[:, :2] = pos / (n - 1)
    o[:, 2:] = goal / (n - 1)
    return o


class GoalGrid:
    MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, n_envs, rng, n=5):
        self.rng, self.n = rng, n
        self.pos = rng.integers(0, n, (n_envs, 2))
        self.goal = rng.integers(0, n, (n_envs, 2))

    def observe(self):
        return torch.from_numpy(grid_obs(self.pos, self.goal, self.n))

    def step(self, act):
        before = np.abs(self.pos - self.goal).sum(1)
        self.pos = np.clip(self.pos + self.MOVES[act.numpy()], 0, self.n - 1)
        after = np.abs(self.pos - self.goal).sum(1)
        hit = after == 0
        reward = (before - after) * 0.2 + hit
        k = int(hit.sum())
        self.goal[hit] = self.rng.integers(0, self.n, (k, 2))
        return torch.tensor(reward, dtype=torch.float32), torch.tensor(hit, dtype=torch.float32)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 4))
        self.v = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))

    def policy(self, obs):
        return torch.softmax(self.pi(obs), dim=-1)

    def value(self, obs):
        return self.v(obs).squeeze(-1)


def behaviour(pi, n_act=4):
    """what the explorer actually plays"""
    return (1 - EPS) * pi + EPS / n_act


def importance_weight(pi_a):
    mu_a = behaviour(pi_a).detach()
    return pi_a / mu_a


def main():
    rng = np.random.default_rng(9)
    torch.manual_seed(9)
    env, model = GoalGrid(32, rng), Model()
    opt_pi = torch.optim.Adam(model.pi.parameters(), lr=3e-3)
    opt_v = torch.optim.Adam(model.v.parameters(), lr=3e-3)
    avg = 0.0
    for it in range(300):
        obs = env.observe()
        with torch.no_grad():
            act = torch.multinomial(behaviour(model.policy(obs)), 1).squeeze(1)
        rew, hit = env.step(act)
        nxt = env.observe()
        with torch.no_grad():
            y = rew + 0.9 * (1 - hit) * model.value(nxt)
            delta = y - model.value(obs)
        pi_a = model.policy(obs).gather(1, act[:, None]).squeeze(1)
        w = importance_weight(pi_a)
        pi_loss = -(w * delta).mean()
        opt_pi.zero_grad()
        pi_loss.backward()
        opt_pi.step()
        v_loss = (w.detach() * (model.value(obs) - y) ** 2).mean()
        opt_v.zero_grad()
        v_loss.backward()
        opt_v.step()
        avg = 0.95 * avg + 0.05 * float(rew.mean())
        if it % 60 == 59:
            print(f"it {it} reward {avg:.3f} v_loss {v_loss.item():.4f}")


if __name__ == "__main__":
    main()

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
MOVES = np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]], dtype=np.float32)


class Field:
    """Walk to the origin; a wind pushes sideways."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.uniform(-0.6, 0.6, 2).astype(np.float32)
        self.t = 0
        return self.pos.copy()

    def step(self, a):
        wind = np.array([0.03 * np.sin(3 * self.pos[1]), 0.0], dtype=np.float32)
        self.pos = np.clip(self.pos + MOVES[a] + wind, -1, 1).astype(np.float32)
        self.t += 1
        dist = float(np.linalg.norm(self.pos))
        return self.pos.copy(), -dist, self.t >= 20


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, o))


class DynamicsModel:
    """Predicts the change of state and the reward of a state-action pair."""

    def __init__(self, n_actions=4, lr=0.05):
        self.n_actions = n_actions
        self.net = mlp(2 + n_actions, 3)
        self.optim = torch.optim.SGD(self.net.parameters(), lr=lr)

    def __call__(self, s, a):
        onehot = nn.functional.one_hot(a, self.n_actions).float()
        out = self.net(torch.cat([s, onehot], dim=-1))
        return s + out[:, :2], out[:, 2]

    def fit(self, data, epochs=2, batch_size=32):
        s, a, r, s2 = data
        losses = []
        for _ in range(epochs):
            for idx in torch.randperm(len(r)).split(batch_size):
                self.optim.zero_grad()
                pred_s, pred_r = self(s[idx], a[idx])
                loss = nn.functional.mse_loss(pred_s, s2[idx]) + nn.functional.mse_loss(pred_r, r[idx])
                loss.backward()
                self.optim.step()
                losses.append(loss.item())
        return float(np.mean(losses))


class Planner:
    def __init__(self, gamma=0.9):
        self.q, self.gamma = mlp(2, 4), gamma
        self.optim = torch.optim.Adam(self.q.parameters(), lr=2e-3)

    def act(self, s, eps, rng):
        if rng.random() < eps:
            return int(rng.integers(4))
        with torch.no_grad():
            return int(self.q(torch.from_numpy(s)).argmax())

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            target = r + self.gamma * self.q(s2).max(dim=1).values
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, target)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


def main():
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    env, model, planner = Field(3), DynamicsModel(), Planner()
    memory = []
    for episode in range(12):
        s, done, ret = env.reset(), False, 0.0
        while not done:
            a = planner.act(s, 0.3, rng)
            s2, r, done = env.step(a)
            memory.append((s, a, np.float32(r), s2))
            s, ret = s2, ret + r
        data = [torch.as_tensor(np.array(col)) for col in zip(*memory)]
        model_loss = model.fit(data)
        for _ in range(8):
            idx = torch.randint(len(memory), (32,))
            starts, acts = data[0][idx], torch.randint(4, (32,))
            with torch.no_grad():
                nxt, rew = model(starts, acts)
            planner.learn(data[0][idx], data[1][idx], data[2][idx], data[3][idx])
            planner.learn(starts, acts, rew, nxt)
        if episode % 3 == 0:
            print(f"episode {episode} return {ret:.2f} model loss {model_loss:.4f}")


if __name__ == "__main__":
    main()

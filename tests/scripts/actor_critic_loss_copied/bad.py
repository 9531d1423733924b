import gymnasium as gym
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.fc = nn.Linear(obs_dim, 48)
        self.pi = nn.Linear(48, n_actions)
        self.v = nn.Linear(48, 1)

    def forward(self, x):
        x = torch.relu(self.fc(x))
        return F.log_softmax(self.pi(x), dim=1), self.v(x)


class Trainer:
    def __init__(self, gamma=0.98, rollout=16):
        self.env = gym.make("CartPole-v1")
        self.model = ActorCritic(4, 2)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-4)
        self.gamma = gamma
        self.rollout = rollout
        self.obs, _ = self.env.reset(seed=0)
        self.finished, self.length = [], 0

    def collect(self):
        data = []
        for _ in range(self.rollout):
            with torch.no_grad():
                logp, _ = self.model(torch.from_numpy(self.obs).unsqueeze(0))
            action = torch.multinomial(logp.exp(), 1).item()
            nxt, reward, terminated, truncated, _ = self.env.step(action)
            data.append((self.obs, action, reward, nxt, terminated))
            self.obs = nxt
            self.length += 1
            if terminated or truncated:
                self.finished.append(self.length)
                self.length = 0
                self.obs, _ = self.env.reset()
        return data

    def to_batch(self, data):
        s, a, r, s2, d = zip(*data)
        return (
            torch.stack([torch.from_numpy(x) for x in s]),
            torch.tensor(a).unsqueeze(1),
            torch.tensor(r, dtype=torch.float32).unsqueeze(1) / 10.0,
            torch.stack([torch.from_numpy(x) for x in s2]),
            torch.tensor(d, dtype=torch.float32).unsqueeze(1),
        )

    def train(self):
        s, a, r, s2, d = self.to_batch(self.collect())
        with torch.no_grad():
            _, next_v = self.model(s2)
            td_target = r + self.gamma * next_v * (1 - d)
        logp, v = self.model(s)
        delta = td_target - v
        loss = -logp.gather(1, a) * delta.detach() + F.smooth_l1_loss(v, td_target)
        loss = torch.tensor(loss.mean(), requires_grad=True)  # <- culprit
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    for step in range(60):
        loss = trainer.train()
        if step % 15 == 14:
            recent = trainer.finished[-5:] or [0]
            print(f"update {step + 1}: loss {loss:.4f}, episode length {sum(recent) / len(recent):.1f}")


main()

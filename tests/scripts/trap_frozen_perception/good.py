import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Perception(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.decode = nn.Linear(32, 4)


def pretrain(perception, data, steps=30):
    opt = torch.optim.Adam(perception.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = (perception.decode(perception.net(data)) - data).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("pretrained", loss.item())


class Agent(nn.Module):
    def __init__(self, perception):
        super().__init__()
        self.perception = perception
        for p in self.perception.parameters():
            p.requires_grad = False
        self.body = nn.Linear(32, 32)
        self.pi, self.v = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        h = torch.relu(self.body(self.perception.net(x)))
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main():
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    env.action_space.seed(0)
    obs, frames = env.reset(seed=0)[0], []
    for _ in range(150):
        frames.append(obs)
        obs, _, term, trunc, _ = env.step(env.action_space.sample())
        if term or trunc:
            obs = env.reset()[0]
    perception = Perception()
    pretrain(perception, torch.from_numpy(np.stack(frames)))
    agent = Agent(perception)
    opt = torch.optim.Adam(filter(lambda p: p.requires_grad, agent.parameters()), lr=3e-3)
    obs = env.reset(seed=1)[0]
    for update in range(20):
        rows = []
        for _ in range(32):
            with torch.no_grad():
                a = agent(torch.from_numpy(obs))[0].sample().item()
            nxt, r, term, trunc, _ = env.step(a)
            rows.append((obs, a, r, float(term or trunc)))
            obs = env.reset()[0] if term or trunc else nxt
        s, a, r, d = zip(*rows)
        dist, value = agent(torch.from_numpy(np.stack(s)))
        with torch.no_grad():
            g = agent(torch.from_numpy(obs))[1].item()
        ret = []
        for rew, done in zip(reversed(r), reversed(d)):
            g = 0.1 * rew + 0.97 * g * (1 - done)
            ret.insert(0, g)
        ret = torch.tensor(ret)
        adv = (ret - value).detach()
        loss = -(dist.log_prob(torch.tensor(a)) * adv).mean() + 0.5 * (ret - value).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if update % 5 == 0:
            print(f"update {update} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

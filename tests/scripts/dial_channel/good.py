import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_GOALS, BITS = 8, 3


class BinaryChannel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, message, noise_std):
        noisy = message + noise_std * torch.randn_like(message)
        return torch.where(noisy > 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(N_GOALS, 24)
        self.out = nn.Linear(24, BITS)

    def forward(self, goal):
        return torch.tanh(self.out(torch.tanh(self.embed(goal))))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(BITS, 48), nn.Tanh(), nn.Linear(48, N_GOALS))

    def forward(self, bits):
        return self.q(bits)


class Team:
    def __init__(self):
        self.speaker, self.listener = Speaker(), Listener()
        params = list(self.speaker.parameters()) + list(self.listener.parameters())
        self.opt = torch.optim.Adam(params, lr=5e-3)

    def communicate(self, goal, noise_std):
        raw = self.speaker(goal)
        return BinaryChannel.apply(raw, noise_std)

    def act(self, goal, eps):
        with torch.no_grad():
            q = self.listener(self.communicate(goal, 0.0))
        greedy = q.argmax(1)
        rnd = torch.randint(0, N_GOALS, greedy.shape)
        return torch.where(torch.rand(greedy.shape) < eps, rnd, greedy)

    def learn(self, goal, action, reward):
        q = self.listener(self.communicate(goal, 0.3))
        chosen = q.gather(1, action[:, None]).squeeze(1)
        loss = F.mse_loss(chosen, reward)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def payoff(goal, action):
    gap = (goal - action).abs()
    return 1.0 - gap.float() / (N_GOALS - 1) * 2.0


def main(rounds=400, batch=96):
    random.seed(0)
    torch.manual_seed(0)
    team = Team()
    for k in range(rounds):
        goal = torch.randint(0, N_GOALS, (batch,))
        action = team.act(goal, eps=max(0.1, 1.0 - k / 200))
        loss = team.learn(goal, action, payoff(goal, action))
        if k % 80 == 0:
            everyone = torch.arange(N_GOALS)
            score = payoff(everyone, team.act(everyone, 0.0)).mean().item()
            print(f"round {k:4d} loss {loss:.4f} greedy payoff {score:.3f}")


if __name__ == "__main__":
    main()

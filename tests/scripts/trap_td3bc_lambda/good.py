"""TD3+BC: offline, normalised states, and a Q term scaled by its own detached magnitude."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--alpha", type=float, default=2.5)
    p.add_argument("--policy-freq", type=int, default=2)
    p.add_argument("--discount", type=float, default=0.9)
    p.add_argument("--tau", type=float, default=0.02)
    return p.parse_args([])


class OfflineData:
    def __init__(self, n=2000, seed=0):
        rng = np.random.default_rng(seed)
        s = rng.normal(loc=[2.0, -1.0, 0.5], scale=[3.0, 1.0, 0.2], size=(n, 3))
        z = (s - [2.0, -1.0, 0.5]) / [3.0, 1.0, 0.2]
        a = np.clip(np.tanh(z[:, :2] - 0.5 * z[:, 1:]) + 0.3 * rng.normal(size=(n, 2)), -1, 1)
        z2 = 0.8 * z + 0.3 * np.concatenate([a, a[:, :1]], 1) + 0.1 * rng.normal(size=(n, 3))
        self.state, self.action = s, a
        self.next_state = z2 * [3.0, 1.0, 0.2] + [2.0, -1.0, 0.5]
        self.reward = 1.0 - 0.3 * (z2 ** 2).sum(1)
        self.not_done = (rng.random(n) > 0.05).astype(np.float64)

    def normalize_states(self, eps=1e-3):
        mean, std = self.state.mean(0, keepdims=True), self.state.std(0, keepdims=True) + eps
        self.state, self.next_state = (self.state - mean) / std, (self.next_state - mean) / std
        return mean, std

    def sample(self, k):
        i = np.random.randint(0, len(self.reward), size=k)
        return [torch.FloatTensor(x[i]) for x in (self.state, self.action, self.next_state, self.reward, self.not_done)]


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(3, 48), nn.Linear(48, 48), nn.Linear(48, 2)

    def forward(self, state):
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(5, 48), nn.Linear(48, 48), nn.Linear(48, 1)
        self.l4, self.l5, self.l6 = nn.Linear(5, 48), nn.Linear(48, 48), nn.Linear(48, 1)

    def forward(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.Q1(state, action), self.l6(F.relu(self.l5(F.relu(self.l4(sa))))).squeeze(1)

    def Q1(self, state, action):
        sa = torch.cat([state, action], 1)
        return self.l3(F.relu(self.l2(F.relu(self.l1(sa))))).squeeze(1)


def main(args):
    np.random.seed(0)
    torch.manual_seed(0)
    data = OfflineData()
    data.normalize_states()
    actor, critic = Actor(), Critic()
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
    for it in range(1, args.steps + 1):
        state, action, next_state, reward, not_done = data.sample(64)
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            next_action = (actor_target(next_state) + noise).clamp(-1, 1)
            target_Q = reward + not_done * args.discount * torch.min(*critic_target(next_state, next_action))
        current_Q1, current_Q2 = critic(state, action)
        critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        if it % args.policy_freq == 0:
            pi = actor(state)
            Q = critic.Q1(state, pi)
            lmbda = args.alpha / Q.abs().mean().detach()
            actor_loss = -lmbda * Q.mean() + F.mse_loss(pi, action)
            actor_optimizer.zero_grad()
            actor_loss.backward()
            actor_optimizer.step()
            for net, tgt in ((critic, critic_target), (actor, actor_target)):
                for param, target_param in zip(net.parameters(), tgt.parameters()):
                    target_param.data.copy_(args.tau * param.data + (1 - args.tau) * target_param.data)
        if it % 10 == 0:
            print(f"it {it} critic {critic_loss.item():.3f} actor {actor_loss.item():.3f} lambda {lmbda.item():.2f} q {Q.mean().item():.3f}")


if __name__ == "__main__":
    main(parse())

import math

import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Thermostat:
    actions = (-1.0, 0.0, 1.0)

    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)
        self.clock = 0
        self.temp = 18.0

    def observe(self):
        phase = 2 * math.pi * self.clock / 48
        return torch.tensor([(self.temp - 21) / 5, math.sin(phase), math.cos(phase)], dtype=torch.float32)

    def step(self, index):
        outside = 14 + 6 * math.sin(2 * math.pi * self.clock / 48)
        self.temp += 0.1 * (outside - self.temp) + 1.2 * self.actions[index] + 0.1 * self.rng.randn()
        self.clock += 1
        return -abs(self.temp - 21) / 5 - 0.05 * abs(self.actions[index])


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 32)
        self.logits = nn.Linear(32, 3)

    def forward(self, s):
        return torch.distributions.Categorical(logits=self.logits(torch.tanh(self.hidden(s))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 32)
        self.value = nn.Linear(32, 1)

    def forward(self, s):
        return self.value(torch.tanh(self.hidden(s))).squeeze(-1)


class NStepAgent:
    def __init__(self, n=12, gamma=0.9):
        self.actor, self.critic = Actor(), Critic()
        self.opt = torch.optim.RMSprop([*self.actor.parameters(), *self.critic.parameters()], lr=2e-3)
        self.n, self.gamma = n, gamma

    def run(self, env):
        transitions = []
        for _ in range(self.n):
            s = env.observe()
            dist = self.actor(s)
            a = dist.sample()
            r = env.step(a.item())
            transitions.append((dist.log_prob(a), self.critic(s), r))
        return transitions

    def learn(self, env):
        transitions = self.run(env)
        with torch.no_grad():
            R = self.critic(env.observe()).item()
        actor_loss, critic_loss = 0.0, 0.0
        for logp, value, r in reversed(transitions):
            R = r + self.gamma * R
            advantage = R - value.item()
            actor_loss += float(-logp * advantage)  # <- culprit
            critic_loss += (R - value) ** 2
        loss = (actor_loss + 0.5 * critic_loss) / self.n
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*self.actor.parameters(), *self.critic.parameters()], 1.0)
        self.opt.step()
        return sum(t[2] for t in transitions) / self.n, loss.item()


if __name__ == "__main__":
    torch.manual_seed(1)
    env, agent = Thermostat(1), NStepAgent()
    rewards = []
    for k in range(48):
        mean_reward, loss = agent.learn(env)
        rewards.append(mean_reward)
        if k % 12 == 11:
            print(f"{k + 1:3d} updates   reward {np.mean(rewards[-12:]):+.3f}   loss {loss:.3f}   temp {env.temp:.1f}")

import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import RelaxedOneHotCategorical

torch.set_num_threads(1)


class Actor(nn.Module):
    def __init__(self, n_obs, n_act, temperature):
        super().__init__()
        self.logits = nn.Sequential(nn.Linear(n_obs, 40), nn.SiLU(), nn.Linear(40, n_act))
        self.register_buffer("temperature", torch.tensor(temperature))

    def forward(self, obs):
        return RelaxedOneHotCategorical(self.temperature, logits=self.logits(obs))


class Critic(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n_obs + n_act, 40), nn.SiLU(), nn.Linear(40, 1))

    def forward(self, obs, act):
        return self.f(torch.cat((obs, act), dim=1)).squeeze(1)


class Elevator:
    """Four buttons; the cabin should go to the floor that called."""

    floors = 4

    def __init__(self):
        self.reset()

    def reset(self):
        self.at, self.call, self.t = random.randrange(4), random.randrange(4), 0
        return self.obs()

    def obs(self):
        eye = torch.eye(self.floors)
        return torch.cat([eye[self.at], eye[self.call]])

    def step(self, button):
        cost = abs(self.at - button) * 0.1
        self.at = button
        reward = (1.0 if self.at == self.call else 0.0) - cost
        self.call, self.t = random.randrange(4), self.t + 1
        return self.obs(), reward, self.t >= 10


class Learner:
    gamma, tau = 0.6, 0.05

    def __init__(self):
        self.actor, self.critic = Actor(8, 4, 0.7), Critic(8, 4)
        self.critic_target = Critic(8, 4)
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.opt_pi = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.opt_q = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    @torch.no_grad()
    def act(self, obs):
        return self.actor(obs[None]).sample()[0]

    @torch.no_grad()
    def backup(self, r, o2, done):
        return r + self.gamma * (1 - done) * self.critic_target(o2, self.actor(o2).sample())

    def critic_step(self, o, a, r, o2, done):
        loss = F.smooth_l1_loss(self.critic(o, a), self.backup(r, o2, done))
        self.opt_q.zero_grad()
        loss.backward()
        self.opt_q.step()
        return loss.item()

    def actor_step(self, o):
        relaxed = self.actor(o).sample()  # <- culprit
        loss = self.critic(o, relaxed).mean().neg()
        self.opt_pi.zero_grad()
        loss.backward()
        self.opt_pi.step()

    @torch.no_grad()
    def track(self):
        src, dst = list(self.critic.parameters()), list(self.critic_target.parameters())
        torch._foreach_lerp_(dst, src, self.tau)


def main():
    random.seed(3)
    torch.manual_seed(3)
    env, learner, memory = Elevator(), Learner(), deque(maxlen=2000)
    obs, scores, running = env.reset(), [], 0.0
    for t in range(1000):
        soft = learner.act(obs)
        nxt, r, done = env.step(soft.argmax().item())
        memory.append((obs, soft, torch.tensor(r), nxt, torch.tensor(float(done))))
        running += r
        obs = nxt
        if done:
            scores.append(running)
            obs, running = env.reset(), 0.0
        if t >= 100 and t % 3 == 0:
            batch = [torch.stack(c) for c in zip(*random.sample(memory, 64))]
            learner.critic_step(*batch)
            learner.actor_step(batch[0])
            learner.track()
        if t % 200 == 199:
            print(f"t {t + 1} mean score {sum(scores[-15:]) / len(scores[-15:]):.2f}")


if __name__ == "__main__":
    main()

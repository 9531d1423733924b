import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

torch.set_num_threads(1)


class GridWorld:
    def __init__(self, size=4, seed=0):
        self.size, self.rng = size, np.random.RandomState(seed)

    def reset(self):
        self.agent = [0, 0]
        self.steps = 0
        return self.state()

    def state(self):
        s = np.zeros((self.size, self.size), dtype=np.float32)
        s[tuple(self.agent)] = 1
        return s.ravel()

    def step(self, action):
        dy, dx = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
        self.agent[0] = int(np.clip(self.agent[0] + dy, 0, self.size - 1))
        self.agent[1] = int(np.clip(self.agent[1] + dx, 0, self.size - 1))
        self.steps += 1
        goal = self.agent == [self.size - 1, self.size - 1]
        return self.state(), 1.0 if goal else -0.02, goal or self.steps >= 25


class ActorCriticAgent:
    def __init__(self, n_states=16, n_actions=4):
        self.gamma = 0.95
        self.body = nn.Sequential(nn.Linear(n_states, 32), nn.Tanh())
        self.actor_head = nn.Linear(32, n_actions)
        self.critic_head = nn.Linear(32, 1)
        self.actor_opt = optim.Adam(self.actor_head.parameters(), lr=4e-3)
        self.critic_opt = optim.Adam([*self.body.parameters(), *self.critic_head.parameters()], lr=4e-3)

    def get_action(self, state):
        with torch.no_grad():
            logits = self.actor_head(self.body(torch.from_numpy(state)))
        return torch.distributions.Categorical(logits=logits).sample().item()

    def update(self, batch):
        states, actions, rewards, next_states, dones = batch
        with torch.no_grad():
            target = rewards + self.gamma * (1 - dones) * self.critic_head(self.body(next_states)).squeeze(1)
        features = self.body(states)  # <- culprit
        value = self.critic_head(features).squeeze(1)
        logits = self.actor_head(features)
        critic_loss = nn.functional.mse_loss(value, target)
        advantage = (target - value).detach()
        dist = torch.distributions.Categorical(logits=logits)
        actor_loss = -(dist.log_prob(actions) * advantage).mean() - 0.01 * dist.entropy().mean()

        self.actor_opt.zero_grad()
        self.critic_opt.zero_grad()
        critic_loss.backward()
        actor_loss.backward()
        self.critic_opt.step()
        self.actor_opt.step()
        return critic_loss.item(), actor_loss.item()


def run():
    torch.manual_seed(0)
    env, agent = GridWorld(), ActorCriticAgent()
    for episode in range(25):
        state, done, rows, total = env.reset(), False, [], 0.0
        while not done:
            action = agent.get_action(state)
            nxt, reward, done = env.step(action)
            rows.append((state, action, reward, nxt, float(done)))
            state, total = nxt, total + reward
        s, a, r, s2, d = zip(*rows)
        batch = (torch.from_numpy(np.array(s)), torch.tensor(a), torch.tensor(r), torch.from_numpy(np.array(s2)), torch.tensor(d))
        losses = agent.update(batch)
        if episode % 6 == 0:
            print(f"episode {episode} reward {total:.2f} losses {losses[0]:.4f} {losses[1]:+.4f}")


if __name__ == "__main__":
    run()

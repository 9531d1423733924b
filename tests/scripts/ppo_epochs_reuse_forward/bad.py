import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class RolloutBuffer:
    def __init__(self):
        self.clear()

    def clear(self):
        self.states, self.actions, self.logprobs, self.rewards, self.ends = [], [], [], [], []

    def tensors(self):
        states = torch.from_numpy(np.stack(self.states))
        return states, torch.tensor(self.actions), torch.tensor(self.logprobs)


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(state_dim, 64), nn.Tanh(), nn.Linear(64, action_dim))
        self.critic = nn.Sequential(nn.Linear(state_dim, 64), nn.Tanh(), nn.Linear(64, 1))

    def evaluate(self, state, action):
        dist = Categorical(logits=self.actor(state))  # <- culprit
        return dist.log_prob(action), self.critic(state).squeeze(-1), dist.entropy()  # <- culprit


class PPO:
    def __init__(self, k_epochs=4, eps_clip=0.2, gamma=0.98):
        self.policy = ActorCritic(4, 2)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.buffer = RolloutBuffer()
        self.k_epochs, self.eps_clip, self.gamma = k_epochs, eps_clip, gamma

    def select_action(self, state):
        with torch.no_grad():
            dist = Categorical(logits=self.policy.actor(torch.from_numpy(state)))
            action = dist.sample()
            logprob = dist.log_prob(action)
        self.buffer.states.append(state)
        self.buffer.actions.append(action.item())
        self.buffer.logprobs.append(logprob.item())
        return action.item()

    def discounted(self):
        out, running = [], 0.0
        for r, end in zip(reversed(self.buffer.rewards), reversed(self.buffer.ends)):
            running = r + self.gamma * running * (not end)
            out.insert(0, running)
        return torch.tensor(out, dtype=torch.float32)

    def update(self):
        returns = self.discounted()
        returns = (returns - returns.mean()) / (returns.std() + 1e-7)
        states, actions, old_logprobs = self.buffer.tensors()
        logprobs, values, entropy = self.policy.evaluate(states, actions)  # <- culprit
        advantages = returns - values.detach()
        for _ in range(self.k_epochs):
            ratios = torch.exp(logprobs - old_logprobs)
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2).mean() + 0.5 * nn.functional.mse_loss(values, returns) - 0.01 * entropy.mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.buffer.clear()
        return loss.item()


def main():
    torch.manual_seed(1)
    env, agent = gym.make("CartPole-v1"), PPO()
    lengths = []
    for episode in range(30):
        state, _ = env.reset(seed=episode)
        done, n = False, 0
        while not done:
            state, reward, terminated, truncated, _ = env.step(agent.select_action(state))
            done = terminated or truncated
            agent.buffer.rewards.append(reward)
            agent.buffer.ends.append(done)
            n += 1
        lengths.append(n)
        if episode % 5 == 4:
            print(f"episode {episode + 1}: length {np.mean(lengths[-5:]):.1f}")
            print(f"   loss {agent.update():.4f}")
    env.close()


if __name__ == "__main__":
    main()

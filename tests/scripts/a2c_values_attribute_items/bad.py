import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 1))


class Agent:
    def __init__(self, n_obs, n_act, gamma=0.99, value_coef=0.5, lr=2e-3):
        self.gamma = gamma
        self.value_coef = value_coef
        self.model = ActorCritic(n_obs, n_act)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.reset_memory()

    def reset_memory(self):
        self.saved_logp = []
        self.saved_values = []
        self.rewards = []

    def remember(self, logp, value):
        self.saved_logp.append(logp)
        self.saved_values.append(value.item())  # <- culprit

    def choose_action(self, observation):
        state = torch.from_numpy(np.asarray(observation, dtype=np.float32)).unsqueeze(0)
        logits = self.model.actor(state)
        dist = torch.distributions.Categorical(logits=logits)
        action = dist.sample()
        self.remember(dist.log_prob(action), self.model.critic(state).squeeze())
        return action.item()

    def discounted_rewards(self):
        R, out = 0.0, []
        for r in self.rewards[::-1]:
            R = r + self.gamma * R
            out.insert(0, R)
        return torch.tensor(out)

    def learn(self):
        targets = self.discounted_rewards() / 20.0
        values = torch.tensor(self.saved_values)
        advantage = targets - values.detach()
        actor_loss = -(torch.cat(self.saved_logp) * advantage).mean()
        critic_loss = (values - targets).pow(2).mean()
        total = actor_loss + self.value_coef * critic_loss
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        self.reset_memory()
        return actor_loss.item(), critic_loss.item()


def main():
    torch.manual_seed(0)
    env = gym.make("CartPole-v1", max_episode_steps=80)
    agent = Agent(4, 2)
    for i in range(25):
        obs, _ = env.reset(seed=i)
        done = False
        while not done:
            obs, reward, terminated, truncated, _ = env.step(agent.choose_action(obs))
            agent.rewards.append(reward)
            done = terminated or truncated
        n = len(agent.rewards)
        al, cl = agent.learn()
        if i % 6 == 0:
            print(f"episode {i}: length {n}, actor {al:.3f}, critic {cl:.3f}")
    env.close()


if __name__ == "__main__":
    main()

import gymnasium as gym
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
device = torch.device("cpu")


class RolloutBuffer:
    def __init__(self):
        self.actions, self.states, self.rewards, self.is_terminals = [], [], [], []

    def clear(self):
        for field in (self.actions, self.states, self.rewards, self.is_terminals):
            field.clear()


class ActorCritic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(state_dim, 48), nn.Tanh(), nn.Linear(48, action_dim))
        self.critic = nn.Sequential(nn.Linear(state_dim, 48), nn.Tanh(), nn.Linear(48, 1))

    @torch.no_grad()
    def act(self, state):
        return Categorical(logits=self.actor(state)).sample()

    def evaluate(self, state, action):
        dist = Categorical(logits=self.actor(state))
        return dist.log_prob(action), self.critic(state).squeeze(-1), dist.entropy()


class PPO:
    def __init__(self, state_dim, action_dim, lr=2e-3, gamma=0.97, K_epochs=5, eps_clip=0.2):
        self.gamma, self.eps_clip, self.K_epochs = gamma, eps_clip, K_epochs
        self.buffer = RolloutBuffer()
        self.policy = ActorCritic(state_dim, action_dim).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.policy_old = ActorCritic(state_dim, action_dim).to(device)
        self.policy_old.load_state_dict(self.policy.state_dict())

    def select_action(self, state):
        state = torch.as_tensor(state, device=device)
        action = self.policy_old.act(state)
        self.buffer.states.append(state)
        self.buffer.actions.append(action)
        return action.item()

    def returns(self):
        out, run = [], 0.0
        for r, end in zip(reversed(self.buffer.rewards), reversed(self.buffer.is_terminals)):
            run = r + self.gamma * run * (1 - end)
            out.append(run)
        out = torch.tensor(out[::-1])
        return (out - out.mean()) / (out.std() + 1e-7)

    def update(self):
        rewards = self.returns()
        states, actions = torch.stack(self.buffer.states), torch.stack(self.buffer.actions)
        ratios_seen = []
        for _ in range(self.K_epochs):
            self.policy_old.load_state_dict(self.policy.state_dict())  # <- culprit
            with torch.no_grad():
                old_logprobs, old_values, _ = self.policy_old.evaluate(states, actions)  # <- culprit
            logprobs, state_values, dist_entropy = self.policy.evaluate(states, actions)
            ratios = torch.exp(logprobs - old_logprobs)
            advantages = rewards - old_values
            surr1 = ratios * advantages
            surr2 = torch.clamp(ratios, 1 - self.eps_clip, 1 + self.eps_clip) * advantages
            loss = -torch.min(surr1, surr2) + 0.5 * (state_values - rewards) ** 2 - 0.01 * dist_entropy
            self.optimizer.zero_grad()
            loss.mean().backward()
            self.optimizer.step()
            ratios_seen.append(ratios.std().item())
        self.policy_old.load_state_dict(self.policy.state_dict())
        self.buffer.clear()
        return loss.mean().item(), max(ratios_seen)


def main():
    torch.manual_seed(0)
    env, ppo = gym.make("CartPole-v1"), PPO(4, 2)
    state, _ = env.reset(seed=0)
    for iteration in range(8):
        for t in range(128):
            nxt, reward, term, trunc, _ = env.step(ppo.select_action(state))
            end = term or trunc or t == 127
            ppo.buffer.rewards.append(float(reward))
            ppo.buffer.is_terminals.append(float(end))
            state = env.reset()[0] if end else nxt
        episodes = sum(ppo.buffer.is_terminals)
        loss, spread = ppo.update()
        if iteration % 2 == 1:
            print(f"iteration {iteration} mean length {128 / episodes:.1f} loss {loss:+.4f} ratio spread {spread:.4f}")


if __name__ == "__main__":
    main()

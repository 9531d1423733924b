import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.set_num_threads(1)

seed = 1
num_envs = 4
num_steps = 32
num_updates = 5
update_epochs = 3
num_minibatches = 2
gamma, gae_lambda, clip_coef, vf_coef = 0.99, 0.95, 0.2, 0.5


def init(layer, gain):
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(init(nn.Linear(4, 64), 1.4), nn.Tanh(), init(nn.Linear(64, 2), 0.01))
        self.critic = nn.Sequential(init(nn.Linear(4, 64), 1.4), nn.Tanh(), init(nn.Linear(64, 1), 1.0))

    def get_value(self, x):
        return self.critic(x).view(-1)

    def evaluate(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), self.get_value(x)


def main():
    torch.manual_seed(seed)
    makers = [lambda: gym.make("CartPole-v1") for _ in range(num_envs)]
    envs = gym.vector.SyncVectorEnv(makers, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)

    obs = torch.zeros(num_steps, num_envs, 4)
    actions = torch.zeros(num_steps, num_envs, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(num_steps, num_envs) for _ in range(4))
    next_obs = torch.as_tensor(envs.reset(seed=seed)[0])
    next_done = torch.zeros(num_envs)

    for update in range(1, num_updates + 1):
        for step in range(num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                actions[step], logprobs[step], values[step] = agent.evaluate(next_obs)
            o, r, term, trunc, _ = envs.step(actions[step].numpy())
            rewards[step] = torch.as_tensor(r)
            next_obs, next_done = torch.as_tensor(o), torch.as_tensor(np.logical_or(term, trunc)).float()

        with torch.no_grad():
            next_value = agent.get_value(next_obs)
            advantages, lastgae = torch.zeros_like(rewards), 0.0
            for t in reversed(range(num_steps)):
                nonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
                nextvalues = next_value if t == num_steps - 1 else values[t + 1]
                delta = rewards[t] + gamma * nextvalues * nonterminal - values[t]
                advantages[t] = lastgae = delta + gamma * gae_lambda * nonterminal * lastgae
            returns = advantages + values

        b_obs, b_actions = obs.view(-1, 4), actions.view(-1)
        b_logprobs, b_advantages, b_returns = logprobs.view(-1), advantages.view(-1), returns.view(-1)
        for epoch in range(update_epochs):
            for inds in torch.randperm(len(b_obs)).chunk(num_minibatches):
                _, newlogprob, newvalue = agent.evaluate(b_obs[inds], b_actions[inds])
                ratio = (newlogprob - b_logprobs[inds]).exp()
                adv = b_advantages[inds]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
                v_loss = 0.5 * (newvalue - b_returns[inds]).pow(2).mean()
                loss = pg_loss + vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"update={update} pg_loss={pg_loss.item():.4f} v_loss={v_loss.item():.4f} dones={int(dones.sum())}")
    envs.close()


if __name__ == "__main__":
    main()

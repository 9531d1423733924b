from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.set_num_threads(1)

args = SimpleNamespace(
    seed=1, learning_rate=1e-3, num_envs=4, num_steps=32, total_timesteps=1280, gamma=0.97, gae_lambda=0.95,
    num_minibatches=4, update_epochs=3, clip_coef=0.2, ent_coef=0.01, vf_coef=0.5, max_grad_norm=0.5, anneal_lr=True,
)
args.batch_size = args.num_envs * args.num_steps
args.minibatch_size = args.batch_size // args.num_minibatches
args.num_updates = args.total_timesteps // args.batch_size


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(4, 48)), nn.Tanh(), layer_init(nn.Linear(48, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(4, 48)), nn.Tanh(), layer_init(nn.Linear(48, 2), std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


if __name__ == "__main__":
    torch.manual_seed(args.seed)
    envs = [gym.make("CartPole-v1") for _ in range(args.num_envs)]
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros(shape + (4,))
    actions, logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(5))
    next_obs = torch.tensor(np.stack([e.reset(seed=args.seed + i)[0] for i, e in enumerate(envs)]))
    next_done = torch.zeros(args.num_envs)

    for update in range(1, args.num_updates + 1):
        if args.anneal_lr:
            frac = (args.num_updates - update) // args.num_updates
            optimizer.param_groups[0]["lr"] = frac * args.learning_rate

        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            values[step], actions[step], logprobs[step] = value.flatten(), action, logprob
            rows = []
            for i, env in enumerate(envs):
                o, r, term, trunc, _ = env.step(int(action[i]))
                rewards[step, i], next_done[i] = r * 0.1, float(term or trunc)
                rows.append(env.reset()[0] if term or trunc else o)
            next_obs = torch.tensor(np.stack(rows))

        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(-1)
            advantages, lastgaelam = torch.zeros_like(rewards), 0
            for t in reversed(range(args.num_steps)):
                last = t == args.num_steps - 1
                nonterminal = 1.0 - (next_done if last else dones[t + 1])
                nextvalues = next_value if last else values[t + 1]
                delta = rewards[t] + args.gamma * nextvalues * nonterminal - values[t]
                advantages[t] = lastgaelam = delta + args.gamma * args.gae_lambda * nonterminal * lastgaelam
            returns = advantages + values

        b_obs, b_act, b_logp = obs.reshape(-1, 4), actions.reshape(-1), logprobs.reshape(-1)
        b_adv, b_ret = advantages.reshape(-1), returns.reshape(-1)
        for epoch in range(args.update_epochs):
            for mb in torch.randperm(args.batch_size).split(args.minibatch_size):
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb].long())
                ratio = (newlogprob - b_logp[mb]).exp()
                adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_ret[mb]) ** 2).mean()
                loss = pg_loss - args.ent_coef * entropy.mean() + v_loss * args.vf_coef
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()  # <- culprit
        print(f"update {update} done rate {dones.mean():.4f} v_loss {v_loss.item():.4f} entropy {entropy.mean():.3f}")

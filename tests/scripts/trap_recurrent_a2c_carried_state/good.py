"""Recurrent A2C. The LSTM state lives on between updates, cut by detach at each boundary."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class CueTask:
    """Every period a cue is shown for one step; answering it on later steps pays."""

    def __init__(self, n_env, n_cue=3, period=4, seed=0):
        self.gen = torch.Generator().manual_seed(seed)
        self.n_env, self.n_cue, self.period = n_env, n_cue, period
        self.clock = torch.randint(0, period, (n_env,), generator=self.gen)
        self.cue = torch.randint(0, n_cue, (n_env,), generator=self.gen)

    def observe(self):
        shown = F.one_hot(self.cue, self.n_cue).float() * (self.clock == 0).float()[:, None]
        return torch.cat([shown, (self.clock.float() / self.period)[:, None]], 1)

    def step(self, action):
        reward = (action == self.cue).float()
        self.clock = (self.clock + 1) % self.period
        done = self.clock == 0
        fresh = torch.randint(0, self.n_cue, (self.n_env,), generator=self.gen)
        self.cue = torch.where(done, fresh, self.cue)
        return self.observe(), reward, done.float()


class LSTMPolicy(nn.Module):
    def __init__(self, obs_dim, n_act, hidden=32):
        super().__init__()
        self.embed = nn.Linear(obs_dim, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)
        self.actor = nn.Linear(hidden, n_act)
        self.critic = nn.Linear(hidden, 1)
        self.hidden = hidden

    def initial_state(self, n):
        return torch.zeros(n, self.hidden), torch.zeros(n, self.hidden)

    def forward(self, obs, state):
        state = self.lstm(torch.tanh(self.embed(obs)), state)
        return self.actor(state[0]), self.critic(state[0]).squeeze(-1), state


class Trainer:
    def __init__(self, n_env=16, unroll=8, gamma=0.7):
        self.env, self.policy = CueTask(n_env), LSTMPolicy(4, 3)
        self.opt = torch.optim.RMSprop(self.policy.parameters(), lr=4e-3, alpha=0.95)
        self.unroll, self.gamma = unroll, gamma
        self.obs, self.state = self.env.observe(), self.policy.initial_state(n_env)
        self.history = []

    def rollout(self):
        logps, values, entropies, rewards, masks = [], [], [], [], []
        for _ in range(self.unroll):
            logits, value, self.state = self.policy(self.obs, self.state)
            dist = torch.distributions.Categorical(logits=logits)
            action = dist.sample()
            self.obs, reward, done = self.env.step(action)
            keep = (1.0 - done)[:, None]
            self.state = tuple(s * keep for s in self.state)
            logps.append(dist.log_prob(action))
            values.append(value)
            entropies.append(dist.entropy())
            rewards.append(reward)
            masks.append(1.0 - done)
        return torch.stack(logps), torch.stack(values), torch.stack(entropies), rewards, masks

    def update(self):
        logps, values, entropies, rewards, masks = self.rollout()
        with torch.no_grad():
            _, ret, _ = self.policy(self.obs, self.state)
        returns = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            ret = r + self.gamma * m * ret
            returns.append(ret)
        returns = torch.stack(returns[::-1])
        adv = returns - values
        actor_loss = -(logps * adv.detach()).mean()
        critic_loss = adv.pow(2).mean()
        loss = actor_loss + 0.5 * critic_loss - 0.01 * entropies.mean()
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.opt.step()
        self.state = tuple(s.detach() for s in self.state)
        self.history.append(loss.item())
        return torch.stack(rewards).mean().item(), critic_loss.item(), entropies.mean().item()


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    for i in range(40):
        reward, critic, entropy = trainer.update()
        if i % 8 == 0:
            print(f"update {i} reward {reward:.3f} critic {critic:.3f} entropy {entropy:.3f}")
    print(f"mean loss {sum(trainer.history) / len(trainer.history):.3f}")


if __name__ == "__main__":
    main()

"""A recurrent actor-critic on a memory game, trained by truncated back-propagation through time."""

import hashlib

import torch
import torch.nn as nn
from torch.distributions import Categorical

N_ENVS, CHUNK, GAMMA = 8, 6, 0.8


class Echo:
    """A symbol is shown; the right action is the symbol of the step before."""

    def __init__(self, generator):
        self.generator = generator
        self.previous = self.current = self.draw()

    def draw(self):
        return torch.randint(0, 3, (N_ENVS,), generator=self.generator)

    def observe(self):
        return nn.functional.one_hot(self.current, 3).float()

    def step(self, action):
        reward = (action == self.previous).float()
        self.previous, self.current = self.current, self.draw()
        return self.observe(), reward


class RecurrentPolicy(nn.Module):
    def __init__(self, hidden_size=24):
        super().__init__()
        self.cell = nn.GRUCell(3, hidden_size)
        self.policy = nn.Linear(hidden_size, 3)
        self.value = nn.Linear(hidden_size, 1)

    def forward(self, obs, hidden):
        hidden = self.cell(obs, hidden)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(1), hidden


class Trainer:
    def __init__(self, env):
        self.env = env
        self.model = RecurrentPolicy()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.obs = env.observe()
        self.hidden = torch.zeros(N_ENVS, 24)

    def chunk(self):
        log_probs, values, rewards, entropy = [], [], [], 0.0
        hidden = self.hidden
        for _ in range(CHUNK):
            dist, value, hidden = self.model(self.obs, hidden)
            action = dist.sample()
            self.obs, reward = self.env.step(action)
            log_probs.append(dist.log_prob(action))
            values.append(value)
            rewards.append(reward)
            entropy = entropy + dist.entropy().mean() / CHUNK
        self.hidden = hidden.detach()
        return torch.stack(log_probs), torch.stack(values), rewards, entropy

    def returns(self, rewards):
        with torch.no_grad():
            _, running, _ = self.model(self.obs, self.hidden)
        targets = []
        for reward in reversed(rewards):
            running = reward + GAMMA * running
            targets.insert(0, running)
        return torch.stack(targets)

    def update(self):
        log_probs, values, rewards, entropy = self.chunk()
        targets = self.returns(rewards)
        advantages = (targets - values).detach()
        actor_loss = -(advantages * log_probs).mean()
        critic_loss = nn.functional.smooth_l1_loss(values, targets)
        total = actor_loss + 0.5 * critic_loss - 0.01 * entropy
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return torch.stack(rewards).mean().item(), grad_norm.item()


def digest(module):
    weights = [tensor.tolist() for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(updates=60):
    torch.set_num_threads(1)
    torch.manual_seed(9)
    trainer = Trainer(Echo(torch.Generator().manual_seed(9)))
    history = [trainer.update()[0] for _ in range(updates)]
    print(f"reward {sum(history[:10]) / 10:.2f} -> {sum(history[-10:]) / 10:.2f}")
    print("weights", digest(trainer.model))


if __name__ == "__main__":
    main()

import io

import torch as pt
import torch.nn as nn

pt.set_num_threads(1)


class FCPolicy(nn.Module):
    def __init__(self, n_states, n_actions, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_states, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.last = nn.Linear(width, 2 * n_actions)

    def forward(self, x):
        a, b = self.last(self.layers(x)).chunk(2, -1)
        return pt.distributions.Beta(1 + nn.functional.softplus(a), 1 + nn.functional.softplus(b))

    def log_prob(self, x, actions):
        dist = self(x)
        return dist.log_prob(actions).sum(-1), dist.entropy().sum(-1)


class FCValue(nn.Module):
    def __init__(self, n_states, width=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_states, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class PPOAgent:
    def __init__(self, n_states, n_actions, epochs=6, clip=0.2, lr=3e-3):
        self.epochs, self.clip, self.lr = epochs, clip, lr
        self.policy = FCPolicy(n_states, n_actions)
        self.value = FCValue(n_states)
        self.make_optimizers()

    def make_optimizers(self):
        self.policy_optimizer = pt.optim.Adam(self.policy.parameters(), lr=self.lr)
        self.value_optimizer = pt.optim.Adam(self.value.parameters(), lr=3 * self.lr)

    def save(self, stream):
        pt.save({"policy": self.policy, "value": self.value}, stream)

    def load(self, stream):
        stream.seek(0)
        checkpoint = pt.load(stream, weights_only=False)
        self.policy = checkpoint["policy"]  # <- culprit
        self.value = checkpoint["value"]  # <- culprit

    def update(self, states, actions, returns, log_p_old):
        with pt.no_grad():
            adv = returns - self.value(states)
            adv = (adv - adv.mean()) / (adv.std() + 1e-7)
        for _ in range(self.epochs):
            log_p, entropy = self.policy.log_prob(states, actions)
            ratio = (log_p - log_p_old).exp()
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
            policy_loss = -(pt.min(ratio * adv, clipped * adv) + 0.01 * entropy).mean()
            self.policy_optimizer.zero_grad()
            policy_loss.backward()
            self.policy_optimizer.step()
            value_loss = (self.value(states) - returns).pow(2).mean()
            self.value_optimizer.zero_grad()
            value_loss.backward()
            self.value_optimizer.step()
        return policy_loss.item(), value_loss.item()


def simulate(agent, n=24, steps=15, gamma=0.9):
    """Keep a lift coefficient near zero with a jet between 0 and 1."""
    x = pt.randn(n, 2)
    states, actions, logps, rewards = [], [], [], []
    for _ in range(steps):
        with pt.no_grad():
            dist = agent.policy(x)
            a = dist.sample().clamp(1e-3, 1 - 1e-3)
            logps.append(dist.log_prob(a).sum(-1))
        states.append(x)
        actions.append(a)
        drift = pt.stack([x[:, 0] + 0.2 * x[:, 1], 0.9 * x[:, 1] + 0.8 * (a[:, 0] - 0.5)], -1)
        x = drift + 0.02 * pt.randn(n, 2)
        rewards.append(-0.1 * x.pow(2).sum(-1))
    returns, running = [], pt.zeros(n)
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    flat = [pt.cat(z) for z in (states, actions, returns, logps)]
    return flat, pt.stack(rewards).mean().item()


def main():
    pt.manual_seed(4)
    agent = PPOAgent(2, 1)
    for episode in range(8):
        data, reward = simulate(agent)
        agent.update(*data)
    checkpoint = io.BytesIO()
    agent.save(checkpoint)
    print(f"checkpoint written, reward {reward:.3f}")

    agent = PPOAgent(2, 1)
    agent.load(checkpoint)
    for episode in range(8, 32):
        data, reward = simulate(agent)
        pl, vl = agent.update(*data)
        if episode % 6 == 0:
            print(f"episode {episode} reward {reward:.3f} policy {pl:+.4f} value {vl:.4f}")


if __name__ == "__main__":
    main()

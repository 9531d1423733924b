import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(21)

SEQ = 6
N = 20


class MemoryPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 24)
        self.cell = nn.GRUCell(24, 24)
        self.skip = nn.Linear(3, 24)
        self.actor = nn.Linear(24, 3)
        self.critic = nn.Linear(24, 1)

    def forward(self, x, h):
        e = torch.sigmoid(self.inp(x))
        h = self.cell(e, h)
        out = torch.tanh(h)
        out = out + self.skip(x)
        return self.actor(out), self.critic(out).squeeze(-1), h


class RepeatFirst:
    """cue shown at t=0, must be reproduced at every later step"""

    def reset(self):
        self.cue = torch.randint(0, 3, (N,))
        self.t = 0
        return torch.nn.functional.one_hot(self.cue, 3).float()

    def step(self, a):
        self.t += 1
        return torch.zeros(N, 3), (a == self.cue).float(), self.t == SEQ


env = RepeatFirst()
policy = MemoryPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
history = []

for episode in range(25):
    obs = env.reset()
    h = torch.zeros(N, 24)
    logps, values, rewards, entropies = [], [], [], []
    done = False
    while not done:
        logits, value, h = policy(obs, h)
        dist = torch.distributions.Categorical(logits=logits)
        action = dist.sample()
        obs, reward, done = env.step(action)
        logps.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)

    # returns
    G = torch.zeros(N)
    returns = []
    for r in reversed(rewards):
        G = r + 0.8 * G
        returns.append(G)
    returns = torch.stack(returns[::-1])
    values = torch.stack(values)
    advantage = returns - values.detach()
    policy_loss = -(torch.stack(logps) * advantage).mean()
    value_loss = (returns - values).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()

    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    history.append(torch.stack(rewards).mean().item())
    if episode % 6 == 0:
        print("episode", episode, "mean reward", round(history[-1], 3), "loss", round(loss.item(), 3))

print("best", max(history))

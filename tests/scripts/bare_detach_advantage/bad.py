import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Arm:
    """one-joint arm: torque towards a random angle"""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.reset(np.ones(n, bool))

    def reset(self, which):
        if not hasattr(self, "q"):
            self.q, self.dq, self.goal, self.t = (np.zeros(self.n) for _ in range(4))
        k = int(which.sum())
        self.q[which], self.dq[which], self.t[which] = 0.0, 0.0, 0
        self.goal[which] = self.rng.uniform(-1, 1, k)

    def obs(self):
        return torch.tensor(np.stack([self.q, self.dq, self.goal], 1), dtype=torch.float32)

    def step(self, torque):
        self.dq = 0.8 * self.dq + 0.3 * np.clip(torque, -1.5, 1.5)
        self.q = self.q + 0.3 * self.dq
        self.t += 1
        r = -np.abs(self.q - self.goal)
        over = self.t >= 20
        if over.any():
            self.reset(over)
        return torch.tensor(r, dtype=torch.float32), torch.tensor(over, dtype=torch.float32)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 64), nn.Tanh())
        self.mean, self.value = nn.Linear(64, 1), nn.Linear(64, 1)
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def forward(self, o):
        h = self.trunk(o)
        return torch.distributions.Normal(self.mean(h).squeeze(-1), self.log_std.exp()), self.value(h).squeeze(-1)


def compute_advantage(rewards, overs, values, bootstrap, gamma):
    g, out = bootstrap, []
    for t in reversed(range(len(rewards))):
        g = rewards[t] + gamma * (1 - overs[t]) * g
        out.append(g)
    returns = torch.stack(out[::-1])
    advantage = returns - values
    advantage.detach()  # <- culprit
    return advantage, returns


def main():
    rng = np.random.default_rng(34)
    torch.manual_seed(34)
    env, net = Arm(16, rng), ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for update in range(160):
        store = {"logp": [], "value": [], "reward": [], "over": []}
        for _ in range(8):
            dist, v = net(env.obs())
            a = dist.sample()
            r, over = env.step(a.numpy())
            for key, item in zip(store, (dist.log_prob(a), v, r, over)):
                store[key].append(item)
        with torch.no_grad():
            boot = net(env.obs())[1]
        values = torch.stack(store["value"])
        advantage, returns = compute_advantage(store["reward"], store["over"], values, boot, 0.9)
        policy_loss = -(torch.stack(store["logp"]) * advantage).mean()
        value_loss = (returns - values).pow(2).mean()
        opt.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 20.0)
        opt.step()
        if update % 32 == 31:
            print(f"update {update} reward {torch.stack(store['reward']).mean():+.3f} value loss {value_loss.item():.3f}")


if __name__ == "__main__":
    main()

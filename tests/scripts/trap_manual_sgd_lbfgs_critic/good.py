# Vanilla policy gradient without torch.optim for the policy: the weights are plain tensors and I write the
# update myself. The value function is refitted every iteration with L-BFGS.
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(3)

OBS, HID, GAMMA = 3, 24, 0.9


def make_weights(*shape):
    w = torch.randn(*shape) / shape[0] ** 0.5
    w.requires_grad_(True)
    return w


W1, b1 = make_weights(OBS, HID), torch.zeros(HID, requires_grad=True)
W2, b2 = make_weights(HID, 1), torch.zeros(1, requires_grad=True)
log_std = torch.full((1,), -0.7, requires_grad=True)
policy_params = [W1, b1, W2, b2, log_std]
velocity = [torch.zeros_like(p) for p in policy_params]


def policy(obs):
    mean = torch.tanh(obs @ W1 + b1) @ W2 + b2
    return torch.distributions.Normal(mean, log_std.exp())


value_net = nn.Sequential(nn.Linear(OBS, 24), nn.Tanh(), nn.Linear(24, 1))


class CartOnSpring:
    """n carts, each to be brought to its own set point"""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.x, self.v = torch.randn(self.n), torch.zeros(self.n)
        self.goal = torch.randn(self.n)
        return self.obs()

    def obs(self):
        return torch.stack([self.x, self.v, self.goal], 1)

    def step(self, force):
        force = force.clamp(-3, 3)
        self.v = 0.7 * self.v + 0.3 * force - 0.05 * self.x
        self.x = self.x + 0.3 * self.v
        return self.obs(), -(self.x - self.goal).abs() - 0.02 * force ** 2


def rollout(env, horizon=12):
    obs, O, A, R = env.reset(), [], [], []
    for _ in range(horizon):
        with torch.no_grad():
            a = policy(obs).sample()
        O.append(obs)
        A.append(a)
        obs, r = env.step(a.squeeze(1))
        R.append(r)
    returns, run = [], torch.zeros(env.n)
    for r in reversed(R):
        run = r + GAMMA * run
        returns.insert(0, run)
    return torch.cat(O), torch.cat(A), torch.cat(returns), torch.stack(R).sum(0).mean().item()


def fit_value(obs, returns):
    optimizer = torch.optim.LBFGS(value_net.parameters(), lr=0.5, max_iter=8, history_size=10)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = (value_net(obs).squeeze(1) - returns).pow(2).mean()
        reg = sum(p.pow(2).sum() for p in value_net.parameters())
        loss = loss + 1e-3 * reg
        loss.backward()
        losses.append(loss.item())
        return loss

    optimizer.step(closure)
    return losses[0], losses[-1]


env = CartOnSpring(24)
lr, momentum = 0.03, 0.8
for iteration in range(25):
    obs, actions, returns, score = rollout(env)
    advantages = returns - value_net(obs).squeeze(1).detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    first, last = fit_value(obs, returns)

    log_prob = policy(obs).log_prob(actions).sum(1)
    loss = -(log_prob * advantages).mean()
    loss.backward()
    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in policy_params)).item()
    with torch.no_grad():
        for p, m in zip(policy_params, velocity):
            m.mul_(momentum).add_(p.grad)
            p -= lr * m
            p.grad = None
    if iteration % 5 == 0:
        print(f"iteration {iteration} score {score:.2f} value fit {first:.2f} -> {last:.2f} "
              f"grad norm {norm:.3f} std {log_std.exp().item():.3f}")

"""Short-horizon pathwise policy gradient through a differentiable tank simulator. The valve only has 9 positions,
so the command is rounded in the forward pass and passed straight through in the backward pass."""
import torch
import torch.nn as nn

torch.set_num_threads(1)


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x.clamp(-1, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        inside = (x.abs() <= 1).to(grad_output.dtype)
        return grad_output * inside, None


class Binarise(torch.autograd.Function):
    """The pump is on or off; the backward of a sigmoid stands in for the step's."""

    @staticmethod
    def forward(ctx, logit):
        soft = torch.sigmoid(logit)
        ctx.save_for_backward(soft)
        return (soft > 0.5).float()

    @staticmethod
    def backward(ctx, grad_output):
        soft, = ctx.saved_tensors
        return grad_output * soft * (1 - soft)


class Controller(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, hidden), nn.Tanh())
        self.valve, self.pump = nn.Linear(hidden, 1), nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.body(s)
        return Quantise.apply(torch.tanh(self.valve(h)), 4).squeeze(1), Binarise.apply(self.pump(h)).squeeze(1)


class Tank:
    """Two coupled tanks; differentiable dynamics."""

    def __init__(self, n, gen):
        self.level = torch.rand(n, 2, generator=gen)
        self.goal = 0.3 + 0.4 * torch.rand(n, generator=gen)

    def obs(self):
        return torch.cat([2 * self.level - 1, 2 * self.goal[:, None] - 1], 1)

    def step(self, valve, pump):
        a, b = self.level.unbind(1)
        flow = 0.15 * (a - b)
        a = a + 0.2 * valve - flow
        b = b + flow + 0.1 * pump - 0.05
        self.level = torch.stack([a, b], 1)
        return 8 * (b - self.goal) ** 2 + 2 * (a - self.goal) ** 2 + 0.05 * pump


def main(updates=40, horizon=6, gamma=0.8):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    policy = Controller()
    critic = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))
    slow = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))
    slow.load_state_dict(critic.state_dict())
    policy_opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-2)
    for u in range(updates):
        env, costs, states = Tank(64, gen), [], []
        for _ in range(horizon):
            s = env.obs()
            states.append(s.detach())
            costs.append(env.step(*policy(s)))
        tail = slow(env.obs()).squeeze(1)
        total = sum(gamma ** t * c for t, c in enumerate(costs)) + gamma ** horizon * tail
        policy_loss = total.mean()
        policy_opt.zero_grad()
        policy_loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        policy_opt.step()

        target, ys = tail.detach(), []
        for c in reversed(costs):
            target = c.detach() + gamma * target
            ys.insert(0, target)
        for _ in range(4):
            critic_loss = (critic(torch.stack(states)).squeeze(-1) - torch.stack(ys)).pow(2).mean()
            critic_opt.zero_grad()
            critic_loss.backward()
            critic_opt.step()
        with torch.no_grad():
            for p, sp in zip(critic.parameters(), slow.parameters()):
                sp.lerp_(p, 0.1)
        if u % 8 == 0:
            print(f"update {u} cost {torch.stack(costs).mean():.4f} policy {policy_loss.item():.4f} critic {critic_loss.item():.4f}")


if __name__ == "__main__":
    main()

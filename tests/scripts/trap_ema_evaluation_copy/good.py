import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.set_num_threads(1)


class Arm:
    """Planar two-joint arm; the expert points at the target."""

    def __init__(self, seed=11):
        self.g = torch.Generator().manual_seed(seed)

    def observe(self, n):
        return torch.rand(n, 4, generator=self.g) * 2 - 1

    def expert(self, obs):
        return torch.stack([torch.sin(2 * obs[:, 0]) - obs[:, 2], torch.cos(obs[:, 1]) * obs[:, 3]], 1)

    def demos(self, n):
        obs = self.observe(n)
        sloppiness = torch.rand(n, 1, generator=self.g)
        act = self.expert(obs) + 0.5 * sloppiness * torch.randn(n, 2, generator=self.g)
        return obs, act, torch.exp(-2 * sloppiness).squeeze(1)


def make_policy():
    return nn.Sequential(nn.Linear(4, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 2))


@torch.no_grad()
def evaluate(model, arm, n=128):
    model.eval()
    obs = arm.observe(n)
    error = (model(obs) - arm.expert(obs)).pow(2).mean().item()
    model.train()
    return error


def main(steps=200):
    torch.manual_seed(11)
    arm, policy = Arm(), make_policy()
    averaged = AveragedModel(policy, multi_avg_fn=get_ema_multi_avg_fn(0.95))
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3, weight_decay=1e-4)
    obs, act, weight = arm.demos(512)
    for step in range(steps):
        idx = torch.randint(len(weight), (64,))
        error = (policy(obs[idx]) - act[idx]).pow(2).sum(1)
        loss = (weight[idx] * error).sum() / weight[idx].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averaged.update_parameters(policy)
        if step % 50 == 49:
            print(f"step {step} loss {loss.item():.4f} eval raw {evaluate(policy, arm):.4f} ema {evaluate(averaged, arm):.4f}")


if __name__ == "__main__":
    main()

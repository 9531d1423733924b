from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


@dataclass
class Args:
    updates: int = 40
    aux_after: int = 15
    lr: float = 3e-3
    envs: int = 32
    seed: int = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
        self.policy = nn.Linear(32, 3)
        self.value = nn.Linear(32, 1)
        self.reward_pred = nn.Sequential(nn.Linear(32 + 3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        h = self.trunk(x)
        return h, torch.distributions.Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)

    def predict_reward(self, h, a):
        return self.reward_pred(torch.cat([h, F.one_hot(a, 3).float()], -1)).squeeze(-1)


def reward_of(x, a):
    best = x[:, :3].argmax(1)
    return (a == best).float() + 0.1 * x[:, 3]


def main(args):
    torch.manual_seed(args.seed)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for update in range(args.updates):
        x = torch.randn(args.envs, 5)
        h, dist, v = net(x)
        a = dist.sample()
        r = reward_of(x, a)
        adv = (r - v).detach()
        loss = -(dist.log_prob(a) * adv).mean() + 0.5 * (v - r).pow(2).mean() - 0.01 * dist.entropy().mean()
        if update >= args.aux_after:
            loss = loss + 0.2 * F.mse_loss(net.predict_reward(h, a), r)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        if update % 10 == 0:
            print(f"update {update} reward {r.mean():.3f} loss {loss.item():+.3f}")


if __name__ == "__main__":
    main(Args())

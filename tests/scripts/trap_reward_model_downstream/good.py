import torch
import torch.nn as nn

torch.set_num_threads(1)


class RewardModel(nn.Module):
    """Learned preference score; its weights come from elsewhere and stay as they are."""

    def __init__(self, s=4, a=2):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(s + a, 32), nn.Softplus(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.score(torch.cat([s, a], -1)).squeeze(-1)


class Policy(nn.Module):
    def __init__(self, s=4, a=2):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(s, 32), nn.Tanh(), nn.Linear(32, a))
        self.log_std = nn.Parameter(torch.full((a,), -1.0))

    def forward(self, s):
        return torch.distributions.Normal(self.mu(s), self.log_std.exp())


def pretrained_weights(model):
    # stands for torch.load("reward_model.pt")
    gen = torch.Generator().manual_seed(99)
    return {k: torch.randn(v.shape, generator=gen) * 0.4 for k, v in model.state_dict().items()}


def main(updates=40):
    torch.manual_seed(6)
    policy = Policy()
    reward_model = RewardModel()
    reward_model.load_state_dict(pretrained_weights(reward_model))
    reward_model.eval()
    reference = {k: v.clone() for k, v in policy.state_dict().items()}
    ref = Policy()
    ref.load_state_dict(reference)
    ref.requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for update in range(updates):
        s = torch.randn(64, 4)
        dist = policy(s)
        a = dist.rsample()
        kl = torch.distributions.kl_divergence(dist, ref(s)).sum(-1)
        reward = reward_model(s, a)
        loss = -(reward - 0.1 * kl).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if update % 10 == 0:
            print(f"update {update} reward {reward.mean().item():+.3f} kl {kl.mean().item():.4f}")


if __name__ == "__main__":
    main()

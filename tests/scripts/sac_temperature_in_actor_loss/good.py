import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


class Policy(nn.Module):
    def __init__(self, s_dim, a_dim):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(s_dim, 48), nn.ELU(), nn.Linear(48, 2 * a_dim))

    def forward(self, s):
        mu, log_std = self.body(s).chunk(2, -1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-4, 1).exp())
        u = dist.rsample()
        logp = (dist.log_prob(u) - 2 * (0.6931 - u - F.softplus(-2 * u))).sum(-1)
        return torch.tanh(u), logp


class SoftAgent(nn.Module):
    def __init__(self, s_dim=3, a_dim=2):
        super().__init__()
        self.pi = Policy(s_dim, a_dim)
        self.qs = nn.ModuleList(nn.Sequential(nn.Linear(s_dim + a_dim, 48), nn.ELU(), nn.Linear(48, 1)) for _ in range(2))
        self.log_alpha = nn.Parameter(torch.zeros(()))
        self.target_entropy = -float(a_dim)

    def q(self, s, a):
        x = torch.cat([s, a], -1)
        return torch.stack([net(x).squeeze(-1) for net in self.qs])


def reach_reward(s, a):
    return -((s[:, :2] - a) ** 2).sum(-1) + 0.2 * s[:, 2]


def main(updates=40, batch=64):
    torch.manual_seed(9)
    agent = SoftAgent()
    opts = {
        "critic": torch.optim.Adam(agent.qs.parameters(), lr=3e-3),
        "actor": torch.optim.Adam([*agent.pi.parameters(), agent.log_alpha], lr=3e-3),
    }
    memory = []
    for update in range(updates):
        # one-step episodes: contextual problem
        s = torch.rand(16, 3) * 2 - 1
        with torch.no_grad():
            a, _ = agent.pi(s)
        memory += list(zip(s, a, reach_reward(s, a)))
        idx = torch.randint(len(memory), (batch,)).tolist()
        bs, ba, br = (torch.stack([memory[i][k] for i in idx]) for k in range(3))

        critic_loss = (agent.q(bs, ba) - br).pow(2).mean()
        opts["critic"].zero_grad()
        critic_loss.backward()
        opts["critic"].step()

        new_a, logp = agent.pi(bs)
        alpha = agent.log_alpha.exp()
        actor_loss = (alpha.detach() * logp - agent.q(bs, new_a).min(0).values).mean()
        temp_loss = -(agent.log_alpha * (logp.detach() + agent.target_entropy)).mean()
        opts["actor"].zero_grad()
        (actor_loss + temp_loss).backward()
        opts["actor"].step()
        if update % 10 == 0:
            print(f"{update:3d} q {critic_loss.item():.3f} pi {actor_loss.item():+.3f} alpha {alpha.item():.3f} r {br.mean():.3f}")


if __name__ == "__main__":
    main()

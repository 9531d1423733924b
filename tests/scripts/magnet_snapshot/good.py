import torch
import torch.nn as nn
from torch.func import functional_call

torch.set_num_threads(1)

PAYOFF = torch.tensor([[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-2.0, 1.0, 0.0]])


class Player(nn.Module):
    """Sees a private weather bit and its own seat, plays biased rock-paper-scissors."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))

    def forward(self, info):
        return torch.log_softmax(self.net(info), dim=-1)


def infosets():
    seat = torch.eye(2).repeat_interleave(2, 0)
    weather = torch.eye(2).repeat(2, 1)
    return torch.cat([seat, weather], 1)


def action_values(logp):
    """Expected payoff of each action against the other seat, per weather bit."""
    p = logp.exp().detach().view(2, 2, 3)
    tilt = torch.tensor([1.0, 1.5]).view(2, 1, 1)
    game = PAYOFF.unsqueeze(0) * tilt
    q_row = torch.einsum("wij,wj->wi", game, p[1])
    q_col = -torch.einsum("wij,wi->wj", game, p[0])
    return torch.stack([q_row, q_col]).view(4, 3)


def exploitability(logp):
    q = action_values(logp)
    return (q.max(-1).values - (q * logp.exp()).sum(-1)).sum().item() / 2


def take_snapshot(player):
    return {k: v.clone() for k, v in player.state_dict().items()}


def main(outer=30, inner=6, eta=0.25, alpha=0.3):
    torch.manual_seed(1)
    player = Player()
    optimizer = torch.optim.SGD(player.parameters(), lr=0.2)
    info = infosets()
    gaps = []
    for k in range(outer):
        anchor = take_snapshot(player)
        with torch.no_grad():
            q = action_values(player(info))
        for _ in range(inner):
            logp = player(info)
            with torch.no_grad():
                old = functional_call(player, anchor, (info,))
            p = logp.exp()
            gain = (p * q).sum(-1)
            kl = (p * (logp - old)).sum(-1)
            entropy = -(p * logp).sum(-1)
            loss = -(gain + alpha * entropy - kl / eta).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        gaps.append(exploitability(player(info).detach()))
        if k % 6 == 0:
            print(f"outer {k} kl to anchor {kl.mean().item():.6f} exploitability {gaps[-1]:.4f}")
    print(f"mean exploitability of the second half {sum(gaps[outer // 2:]) / (outer - outer // 2):.4f}")


if __name__ == "__main__":
    main()

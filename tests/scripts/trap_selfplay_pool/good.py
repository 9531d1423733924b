"""Self-play on a blotto-like game. The league opponent is replaced only when the learner beats it in 95% of games."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(5)
torch.set_num_threads(1)
GATE = 0.95


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(5, 32), nn.Tanh())
        self.pi = nn.Linear(32, 4)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.torso(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


# payoff depends on a public context: rock-paper-scissors with a context dependent bonus action
BASE = torch.tensor([[0, -1, 1, -1.0], [1, 0, -1, -1.0], [-1, 1, 0, -1.0], [1, 1, 1, 0.0]])


def payoff(ctx, mine, theirs):
    bonus = (ctx[:, 0] > 0).float() * 2 - 1
    base = BASE[mine, theirs]
    risky = ((mine == 3).float() - (theirs == 3).float()) * bonus
    return torch.where((mine == 3) | (theirs == 3), risky, base)


learner = Player()
opponent = copy.deepcopy(learner).eval()
opt = torch.optim.Adam(learner.parameters(), lr=5e-3)
history, generation, wins = [], 0, 0.5
for it in range(200):
    ctx = torch.randn(128, 5)
    dist, value = learner(ctx)
    act = dist.sample()
    with torch.no_grad():
        their_act = opponent(ctx)[0].sample()
    reward = payoff(ctx, act, their_act)
    adv = reward - value.detach()
    policy_loss = -(dist.log_prob(act) * adv).mean()
    value_loss = F.mse_loss(value, reward)
    loss = policy_loss + 0.5 * value_loss - 0.02 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
    opt.step()
    wins = 0.95 * wins + 0.05 * (reward > 0).float().mean().item()
    if wins > GATE:
        opponent.load_state_dict(learner.state_dict())
        generation += 1
        wins = 0.5
    history.append(reward.mean().item())
print("payoff vs league %.3f -> %.3f" % (sum(history[:10]) / 10, sum(history[-10:]) / 10))
print("generations passed:", generation, "win average", round(wins, 3))

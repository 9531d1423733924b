"""Three roles share one policy with role embeddings. The team loss is the SUM of the three agents' losses."""
import torch
import torch.nn as nn

torch.manual_seed(8)
torch.set_num_threads(1)
AGENTS = ("scout", "carrier", "guard")


class Team(nn.Module):
    def __init__(self):
        super().__init__()
        self.role = nn.Embedding(len(AGENTS), 8)
        self.trunk = nn.Sequential(nn.Linear(6 + 8, 48), nn.ReLU())
        self.policy = nn.Linear(48, 3)
        self.value = nn.Linear(48, 1)

    def forward(self, obs, role):
        e = self.role(torch.full((len(obs),), role))
        h = self.trunk(torch.cat([obs, e], -1))
        return torch.distributions.Categorical(logits=self.policy(h)), self.value(h)[:, 0]


def correct_action(obs, role):
    return obs[:, 2 * role : 2 * role + 2].sign().sum(1).div(2).long() + 1  # -1,0,1 -> 0,1,2


team = Team()
optimizer = torch.optim.Adam(team.parameters(), lr=1e-2)
accumulated_reward = {name: [] for name in AGENTS}
for episode in range(220):
    optimizer.zero_grad()
    for role, name in enumerate(AGENTS):
        obs = torch.randn(96, 6)
        dist, value = team(obs, role)
        action = dist.sample()
        reward = (action == correct_action(obs, role)).float()
        advantage = (reward - value).detach()
        actor_loss = -(dist.log_prob(action) * advantage).mean()
        critic_loss = (value - reward).square().mean()
        agent_loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
        agent_loss.backward()  # team objective J = J_scout + J_carrier + J_guard
        accumulated_reward[name].append(reward.mean().item())
    torch.nn.utils.clip_grad_norm_(team.parameters(), 5.0)
    optimizer.step()
for name, values in accumulated_reward.items():
    print(name, "%.3f -> %.3f" % (sum(values[:10]) / 10, sum(values[-10:]) / 10))

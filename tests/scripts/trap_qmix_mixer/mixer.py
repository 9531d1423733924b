import torch
import torch.nn as nn
import torch.nn.functional as F


class QMixer(nn.Module):
    """Monotonic mixing: the hypernetworks' outputs are made non-negative with abs."""

    def __init__(self, n_agents, state_dim, embed=16):
        super().__init__()
        self.n_agents, self.embed = n_agents, embed
        self.hyper_w1 = nn.Linear(state_dim, n_agents * embed)
        self.hyper_b1 = nn.Linear(state_dim, embed)
        self.hyper_w2 = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, embed))
        self.hyper_b2 = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, agent_qs, state):
        b = state.shape[0]
        w1 = torch.abs(self.hyper_w1(state)).view(b, self.n_agents, self.embed)
        hidden = F.elu(torch.bmm(agent_qs.view(b, 1, self.n_agents), w1) + self.hyper_b1(state).view(b, 1, self.embed))
        w2 = torch.abs(self.hyper_w2(state)).view(b, self.embed, 1)
        return (torch.bmm(hidden, w2) + self.hyper_b2(state).view(b, 1, 1)).view(b)

"""Three value heads with different discounts, weighted by learned homoscedastic uncertainty."""
import torch
import torch.nn as nn

torch.manual_seed(3)
torch.set_num_threads(1)
GAMMAS = torch.tensor([0.5, 0.9, 0.97])


class Walk:
    """Random walk on 9 cells; +1 at the right end, -0.2 at the left end."""

    def __init__(self):
        self.n = 9
        self.s = 4

    def rollout(self, steps):
        states, rewards, nexts, dones = [], [], [], []
        for _ in range(steps):
            states.append(self.s)
            nxt = self.s + (1 if torch.rand(()) < 0.55 else -1)
            r, d = (1.0, 1.0) if nxt == self.n - 1 else (-0.2, 1.0) if nxt == 0 else (0.0, 0.0)
            rewards.append(r)
            nexts.append(nxt)
            dones.append(d)
            self.s = 4 if d else nxt
        eye = torch.eye(self.n)
        return eye[states], torch.tensor(rewards), eye[nexts], torch.tensor(dones)


class MultiHorizon(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 48), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(48, 1) for _ in GAMMAS])
        self.log_vars = nn.Parameter(torch.zeros(len(GAMMAS)))

    def forward(self, x):
        h = self.body(x)
        return torch.cat([head(h) for head in self.heads], dim=-1)


net = MultiHorizon()
lagged = MultiHorizon()
lagged.load_state_dict(net.state_dict())
opt = torch.optim.Adam(
    [
        {"params": list(net.body.parameters()) + list(net.heads.parameters()), "lr": 3e-3},
        {"params": [net.log_vars], "lr": 1e-2},
    ]
)
env = Walk()
first = last = None
for it in range(200):
    s, r, s2, d = env.rollout(64)
    with torch.no_grad():
        target = r[:, None] + GAMMAS * (1 - d)[:, None] * lagged(s2)
    per_task = (net(s) - target).pow(2).mean(0)
    loss = (torch.exp(-net.log_vars) * per_task + net.log_vars).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        net.log_vars.clamp_(-6.0, 4.0)
        for a, b in zip(lagged.parameters(), net.parameters()):
            a.lerp_(b, 0.05)
    if it == 0:
        first = per_task.detach()
    last = per_task.detach()
print("per-task error", [round(v, 4) for v in first.tolist()], "->", [round(v, 4) for v in last.tolist()])
print("log vars", [round(v, 2) for v in net.log_vars.tolist()])
print("value right of centre minus left", (net(torch.eye(9)[[7]]) - net(torch.eye(9)[[1]])).tolist())

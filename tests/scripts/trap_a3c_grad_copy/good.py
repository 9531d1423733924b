"""Asynchronous-style A2C: two local workers, one shared model and optimizer, gradients handed over by reference."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(221)
torch.set_num_threads(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 48)
        self.actor, self.critic = nn.Linear(48, 3), nn.Linear(48, 1)

    def forward(self, x):
        h = torch.tanh(self.fc(x))
        return self.actor(h), self.critic(h).squeeze(-1)


class Env:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(16, 6, generator=self.g)

    def step(self, a):
        r = (a == (self.x[:, :3] + self.x[:, 3:]).argmax(1)).float()
        self.x = 0.5 * self.x + torch.randn(16, 6, generator=self.g)
        return r


def ensure_shared_grads(model, shared):
    for p, q in zip(model.parameters(), shared.parameters()):
        q._grad = p.grad


class Worker:
    def __init__(self, rank):
        self.env, self.model = Env(rank), Model()
        self.model.train()

    def run(self, shared, optimizer):
        self.model.load_state_dict(shared.state_dict())
        lps, vs, rs, es = [], [], [], []
        for _ in range(6):
            logits, v = self.model(self.env.x)
            dist = torch.distributions.Categorical(logits=logits)
            a = dist.sample()
            lps.append(dist.log_prob(a)); vs.append(v); es.append(dist.entropy()); rs.append(self.env.step(a))
        R = self.model(self.env.x)[1].detach()
        policy_loss = value_loss = 0.0
        for t in reversed(range(6)):
            R = rs[t] + 0.7 * R
            adv = R - vs[t]
            value_loss = value_loss + 0.5 * adv.pow(2).mean()
            policy_loss = policy_loss - (lps[t] * adv.detach()).mean() - 0.01 * es[t].mean()
        self.model.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        ensure_shared_grads(self.model, shared)
        optimizer.step()
        return torch.stack(rs).mean().item()


shared = Model()
optimizer = torch.optim.Adam(shared.parameters(), lr=3e-3)
workers = [Worker(r) for r in range(2)]
curve = []
for it in range(120):
    curve.append(sum(w.run(shared, optimizer) for w in workers) / len(workers))
print("reward %.3f -> %.3f" % (sum(curve[:10]) / 10, sum(curve[-10:]) / 10))

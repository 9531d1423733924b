import torch
from torch import nn

torch.set_num_threads(1)


def make_dynamics(seed):
    g = torch.Generator().manual_seed(seed)
    A = torch.eye(4) + 0.1 * torch.randn(4, 4, generator=g)
    B = 0.5 * torch.randn(4, 2, generator=g)
    return A, B


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 24)
        self.l2 = nn.Linear(24, 6)

    def forward(self, o):
        return self.l2(torch.relu(self.l1(o)))


class LatentModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.dyn = nn.GRUCell(2, 6)
        self.reward = nn.Linear(6, 1)

    def start(self, obs):
        z0 = self.encoder(obs)
        return z0

    def rollout(self, obs, actions):
        z = self.start(obs)
        out = []
        for a in actions.unbind(1):
            z = self.dyn(a, z)
            out.append(self.reward(z).squeeze(-1))
        return torch.stack(out, 1)


class ModelLearner:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def fit(self, obs, actions, rewards):
        pred = self.model.rollout(obs, actions)
        loss = nn.functional.mse_loss(pred, rewards)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        return loss.item()


@torch.no_grad()
def plan(model, obs, horizon=5, n=16):
    cand = torch.rand(n, horizon, 2) * 2 - 1
    ret = model.rollout(obs.expand(n, -1), cand).sum(1)
    return cand[ret.argmax(), 0]


def collect(A, B, model, n=16, horizon=5):
    obs = torch.randn(n, 4)
    acts = torch.rand(n, horizon, 2) * 2 - 1
    acts[0, 0] = plan(model, obs[:1])
    x, rews = obs, []
    for t in range(horizon):
        x = (x @ A.T + acts[:, t] @ B.T).clamp(-3, 3)
        rews.append(-x.pow(2).mean(1))
    return obs, acts, torch.stack(rews, 1)


if __name__ == "__main__":
    torch.manual_seed(11)
    A, B = make_dynamics(2)
    model = LatentModel()
    learner = ModelLearner(model)
    for i in range(40):
        loss = learner.fit(*collect(A, B, model))
        if i % 10 == 0:
            print(f"[{i:03d}] reward model loss {loss:.4f}")

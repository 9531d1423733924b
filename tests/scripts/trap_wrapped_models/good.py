import copy
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Wrapper:
    def __init__(self, model):
        self._model = model

    def forward(self, *a, **k):
        return self._model(*a, **k)

    def __getattr__(self, key):
        return getattr(self._model, key)


class ArgmaxSampleWrapper(Wrapper):
    def forward(self, data):
        out = self._model(data)
        return {**out, "action": out["logit"].argmax(-1)}


class EpsGreedySampleWrapper(Wrapper):
    def forward(self, data, eps):
        out = self._model(data)
        rnd = torch.randint(out["logit"].shape[-1], out["logit"].shape[:1])
        keep = torch.rand(out["logit"].shape[0]) > eps
        return {**out, "action": torch.where(keep, out["logit"].argmax(-1), rnd)}


class TargetNetworkWrapper(Wrapper):
    def __init__(self, model, update_kwargs):
        super().__init__(copy.deepcopy(model))
        self._freq, self._count = update_kwargs["freq"], 0

    def update(self, state_dict):
        self._count += 1
        if self._count % self._freq == 0:
            self._model.load_state_dict(state_dict, strict=True)


class DuelingNet(nn.Module):
    def __init__(self, obs=4, act=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.a, self.v = nn.Linear(32, act), nn.Linear(32, 1)

    def forward(self, data):
        h = self.encoder(data["obs"])
        a = self.a(h)
        return {"logit": a - a.mean(-1, keepdim=True) + self.v(h)}


def q_nstep_td_error(data, gamma, nstep):
    q, next_q, action, next_action, reward, done, weight = data
    weight = torch.ones_like(reward[0]) if weight is None else weight
    batch = torch.arange(action.shape[0])
    picked, nxt = q[batch, action], next_q[batch, next_action]
    factor = torch.cat([torch.ones(1), torch.cumprod(gamma * torch.ones(nstep - 1), 0)])
    target = factor.matmul(reward) + gamma**nstep * nxt * (1 - done)
    per_sample = F.mse_loss(picked, target.detach(), reduction="none")
    return (per_sample * weight).mean(), per_sample


class DQNPolicy:
    def __init__(self, nstep=3, gamma=0.9):
        self.model, self.nstep, self.gamma = DuelingNet(), nstep, gamma
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.learn_model = ArgmaxSampleWrapper(self.model)
        self.collect_model = EpsGreedySampleWrapper(self.model)
        self.target_model = TargetNetworkWrapper(self.model, update_kwargs={"freq": 15})

    def forward_collect(self, obs, eps):
        self.collect_model.eval()
        with torch.no_grad():
            return self.collect_model.forward({"obs": obs}, eps=eps)["action"]

    def forward_learn(self, data):
        self.learn_model.train()
        self.target_model.train()
        q = self.learn_model.forward({"obs": data["obs"]})["logit"]
        with torch.no_grad():
            target_q = self.target_model.forward({"obs": data["next_obs"]})["logit"]
            target_act = self.learn_model.forward({"obs": data["next_obs"]})["action"]
        loss, td = q_nstep_td_error((q, target_q, data["action"], target_act, data["reward"], data["done"], None), self.gamma, self.nstep)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.target_model.update(self.learn_model.state_dict())
        return {"loss": loss.item(), "priority": td.abs().tolist()}


def collect(policy, n, length, eps):
    x, rows = torch.randn(n, 4), []
    for _ in range(length):
        a = policy.forward_collect(x, eps)
        nxt = (0.9 * x + 0.4 * torch.stack([a - 1.0, 1.0 - a, 0.5 * (a == 1), 0 * a], 1) + 0.05 * torch.randn(n, 4)).float()
        rows.append((x, a, 1 - nxt[:, :2].abs().sum(-1), nxt))
        x = nxt
    return rows


def nstep_rows(rows, nstep):
    for t in range(len(rows) - nstep + 1):
        window = rows[t : t + nstep]
        rew = torch.stack([w[2] for w in window], 1)
        end = torch.zeros(len(rew))
        yield from zip(window[0][0], window[0][1], rew, window[-1][3], end)


def main(iters=25):
    torch.manual_seed(8)
    rng = np.random.default_rng(8)
    policy, buffer = DQNPolicy(), []
    stack = partial(torch.stack, dim=0)
    for it in range(iters):
        rows = collect(policy, 8, 10, eps=max(0.1, 0.9 - it / 20))
        buffer.extend(nstep_rows(rows, policy.nstep))
        for _ in range(8):
            o, a, r, o2, d = (stack(c) for c in zip(*(buffer[i] for i in rng.integers(len(buffer), size=32))))
            info = policy.forward_learn({"obs": o, "action": a, "reward": r.T, "next_obs": o2, "done": d})
        if it % 6 == 0:
            print(f"iter {it} reward {torch.stack([w[2] for w in rows]).mean():.3f} loss {info['loss']:.4f}")


if __name__ == "__main__":
    main()

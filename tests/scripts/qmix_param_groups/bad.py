import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
N_AGENTS, N_ACT, GAMMA = 3, 4, 0.9


class Lights:
    """Three lamps; every agent sees its own lamp and a hint, the team is paid for matching the pattern."""

    def __init__(self, batch):
        self.b = batch
        self.reset()

    def reset(self):
        self.state = torch.randint(0, N_ACT, (self.b, N_AGENTS))
        return self.view()

    def view(self):
        own = F.one_hot(self.state, N_ACT).float()
        left = F.one_hot(self.state.roll(1, 1), N_ACT).float()
        return torch.cat([own, left], -1)

    def step(self, a):
        want = (self.state + 1) % N_ACT
        r = (a == want).float().mean(1) + 0.5 * (a == want).all(1).float()
        self.state = torch.where(torch.rand(self.b, N_AGENTS) < 0.3, torch.randint(0, N_ACT, a.shape), a)
        return self.view(), r


class Mixer(nn.Module):
    def __init__(self, state_dim, width=16):
        super().__init__()
        self.width = width
        self.w1 = nn.Linear(state_dim, N_AGENTS * width)
        self.b1 = nn.Linear(state_dim, width)
        self.w2 = nn.Linear(state_dim, width)
        self.b2 = nn.Sequential(nn.Linear(state_dim, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, qs, state):
        w1 = self.w1(state).abs().view(-1, N_AGENTS, self.width)
        h = F.elu(torch.bmm(qs[:, None], w1).squeeze(1) + self.b1(state))
        return (h * self.w2(state).abs()).sum(1) + self.b2(state).squeeze(1)


class Learner:
    def __init__(self, obs_dim, lr):
        self.agent = nn.Sequential(nn.Linear(obs_dim, 48), nn.ReLU(), nn.Linear(48, N_ACT))
        self.mixer = Mixer(obs_dim * N_AGENTS)
        self.target_agent = copy.deepcopy(self.agent)
        self.target_mixer = copy.deepcopy(self.mixer)
        groups = [{"params": list(m.parameters()), "name": k} for k, m in vars(self).items() if isinstance(m, nn.Module)]  # <- culprit
        self.optim = torch.optim.Adam(groups, lr=lr)  # <- culprit

    def act(self, obs, eps):
        with torch.no_grad():
            greedy = self.agent(obs).argmax(-1)
        return torch.where(torch.rand(greedy.shape) < eps, torch.randint(0, N_ACT, greedy.shape), greedy)

    def train(self, obs, act, rew, nxt):
        chosen = self.agent(obs).gather(2, act[..., None]).squeeze(-1)
        q_tot = self.mixer(chosen, obs.flatten(1))
        best = self.target_agent(nxt).max(-1).values  # <- culprit
        y = rew + GAMMA * self.target_mixer(best, nxt.flatten(1))  # <- culprit
        loss = F.mse_loss(q_tot, y)
        self.optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for g in self.optim.param_groups for p in g["params"]], 10.0)
        self.optim.step()
        self.soft_update(0.02)
        return loss.item()

    @torch.no_grad()
    def soft_update(self, tau):
        for live, slow in ((self.agent, self.target_agent), (self.mixer, self.target_mixer)):
            for p, tp in zip(live.parameters(), slow.parameters()):
                tp.mul_(1 - tau).add_(p, alpha=tau)


def main():
    torch.manual_seed(8)
    env, learner, pool = Lights(16), Learner(2 * N_ACT, 2e-3), []
    obs = env.reset()
    for it in range(160):
        act = learner.act(obs, max(0.1, 1 - it / 80))
        nxt, rew = env.step(act)
        pool.append((obs, act, rew, nxt))
        obs = nxt
        idx = torch.randint(len(pool), (3,)).tolist()
        loss = learner.train(*(torch.cat([pool[i][k] for i in idx]) for k in range(4)))
        if it % 40 == 39:
            print(f"it {it} loss {loss:.4f} team reward {rew.mean():.3f}")


if __name__ == "__main__":
    main()

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
AGENTS, ACTIONS, OBS = 2, 3, 5


class Relay:
    """Two robots get noisy readings of a hidden digit and must both call it, on time."""

    def __init__(self, n):
        self.n = n
        self.code = torch.randint(0, ACTIONS, (n,))
        self.clock = torch.zeros(n)

    def observe(self):
        clean = F.one_hot(self.code, ACTIONS).float()[:, None].expand(-1, AGENTS, -1)
        seen = clean + 0.3 * torch.randn(self.n, AGENTS, ACTIONS)
        ids = torch.eye(AGENTS)[None].expand(self.n, -1, -1)
        return torch.cat([seen, ids], -1)

    def step(self, acts):
        ok = acts == self.code[:, None]
        r = 0.3 * ok.float().mean(1) + ok.all(1).float()
        self.code = torch.where(ok.all(1), torch.randint(0, ACTIONS, (self.n,)), self.code)
        return r


class Team(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(OBS, 32), nn.Tanh(), nn.Linear(32, ACTIONS))
        self.critic = nn.Sequential(nn.Linear(AGENTS * OBS + AGENTS * ACTIONS, 64), nn.Tanh(), nn.Linear(64, ACTIONS))

    def counterfactual_q(self, critic, obs, acts):
        """Q_i(s, . , a_-i) for every agent: own action is masked from the input."""
        flat = obs.flatten(1)
        hot = F.one_hot(acts, ACTIONS).float()
        outs = []
        for i in range(AGENTS):
            keep = torch.ones(AGENTS, 1)
            keep[i] = 0
            outs.append(critic(torch.cat([flat, (hot * keep).flatten(1)], 1)))
        return torch.stack(outs, 1)


def rollout(env, team, steps):
    buf = {"obs": [], "acts": [], "rew": []}
    for _ in range(steps):
        obs = env.observe()
        with torch.no_grad():
            acts = torch.distributions.Categorical(logits=team.actor(obs)).sample()
        buf["obs"].append(obs)
        buf["acts"].append(acts)
        buf["rew"].append(env.step(acts))
    return {k: torch.stack(v) for k, v in buf.items()}


def main():
    torch.manual_seed(13)
    env, team = Relay(16), Team()
    slow = copy.deepcopy(team.critic).requires_grad_(False)
    opt = torch.optim.Adam(team.parameters(), lr=3e-3)
    for it in range(110):
        d = rollout(env, team, 9)
        obs, acts, rew = d["obs"].flatten(0, 1), d["acts"].flatten(0, 1), d["rew"]
        with torch.no_grad():
            q_next = team.counterfactual_q(slow, obs, acts).gather(-1, acts[..., None]).squeeze(-1).view(9, 16, AGENTS)
            y = (rew[:-1, :, None] + 0.8 * q_next[1:]).flatten(0, 1)
        m = 8 * 16
        q = team.counterfactual_q(team.critic, obs[:m], acts[:m])
        q_taken = q.gather(-1, acts[:m, :, None]).squeeze(-1)
        critic_loss = (q_taken - y).pow(2).mean()
        dist = torch.distributions.Categorical(logits=team.actor(obs[:m]))
        baseline = (dist.probs.detach() * q).sum(-1)
        advantage = q_taken - baseline
        actor_loss = -(dist.log_prob(acts[:m]) * advantage).mean()  # <- culprit
        loss = actor_loss + 0.5 * critic_loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, sp in zip(team.critic.parameters(), slow.parameters()):
                sp.lerp_(p, 0.05)
        if it % 22 == 21:
            print(f"it {it} team reward {rew.mean():.3f} critic {critic_loss.item():.4f}")


if __name__ == "__main__":
    main()

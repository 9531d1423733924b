import torch
import torch.nn as nn
from torch.distributions import Normal

torch.set_num_threads(1)
DRONES, ENVS, STEPS = 3, 12, 8


class Formation:
    def reset(self):
        self.x = torch.randn(ENVS, DRONES) * 2
        self.slot = torch.tensor([-4.0, 0.0, 4.0]).expand(ENVS, DRONES)
        return self.obs()

    def obs(self):
        gap = self.slot - self.x
        wind = 0.1 * torch.randn(ENVS, DRONES)
        ids = torch.eye(DRONES).expand(ENVS, -1, -1)
        return torch.cat([gap.unsqueeze(-1), wind.unsqueeze(-1), ids], -1)

    def step(self, a):
        self.x = self.x + 0.5 * a.clamp(-2, 2)
        return self.obs(), -(self.slot - self.x).abs().mean(1) * 0.5


class LSTMActor(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(5, hidden)
        self.mu = nn.Linear(hidden, 1)
        self.log_std = nn.Parameter(torch.full((1,), -0.5))

    def forward(self, seq, state=None):
        out, state = self.rnn(seq, state)
        return Normal(self.mu(out).squeeze(-1), self.log_std.exp()), state


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5 * DRONES, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, joint):
        return self.net(joint.flatten(-2)).squeeze(-1)


@torch.no_grad()
def rollout(env, actor):
    obs, state, rows = env.reset(), None, []
    for _ in range(STEPS):
        dist, state = actor(obs.reshape(1, ENVS * DRONES, 5), state)
        act = dist.sample()
        logp = dist.log_prob(act)[0]
        nxt, r = env.step(act.view(ENVS, DRONES))
        rows.append((obs, act[0], logp, r))
        obs = nxt
    return [torch.stack(c) for c in zip(*rows)]


class ActorLearner:
    def __init__(self, actor, lr=2e-2, max_norm=0.1):
        self.actor, self.max_norm = actor, max_norm
        self.opt = torch.optim.SGD(actor.parameters(), lr=lr, momentum=0.8)

    def update(self, obs, act, old, adv):
        dist, _ = self.actor(obs.reshape(STEPS, ENVS * DRONES, 5))
        ratio = (dist.log_prob(act) - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.actor.parameters(), self.max_norm)
        self.opt.step()
        return norm.item()


class CriticLearner:
    def __init__(self, critic, lr=1e-2):
        self.critic, self.opt = critic, torch.optim.Adam(critic.parameters(), lr=lr)

    def update(self, obs, ret):
        loss = (self.critic(obs) - ret).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    torch.manual_seed(12)
    env, actor, critic = Formation(), LSTMActor(), Critic()
    pi, vf = ActorLearner(actor), CriticLearner(critic)
    for it in range(40):
        obs, act, old, rew = rollout(env, actor)
        run, rets = torch.zeros(ENVS), []
        for r in rew.flip(0):
            run = r + 0.9 * run
            rets.insert(0, run)
        ret = torch.stack(rets)
        with torch.no_grad():
            adv = (ret - critic(obs)).repeat_interleave(DRONES, 1)
        norms = [pi.update(obs, act, old, adv) for _ in range(3)]
        for _ in range(8):
            v_loss = vf.update(obs, ret)
        if it % 8 == 0:
            print(f"iter {it} reward {rew.mean():.3f} v-loss {v_loss:.3f} norms {' '.join(f'{n:.2f}' for n in norms)} limit {pi.max_norm}")


if __name__ == "__main__":
    main()

from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)


@dataclass
class Config:
    zones: int = 5
    taxis: int = 24
    horizon: int = 8
    hidden: int = 32
    iterations: int = 90
    lr: float = 4e-3
    seed: int = 3


class Dispatch:
    """A hint about the busy zone is shown at the first step only."""

    def __init__(self, cfg):
        self.cfg = cfg

    def reset(self):
        self.busy = torch.randint(self.cfg.zones, (self.cfg.taxis,))
        self.t = 0
        return self.obs()

    def obs(self):
        hint = nn.functional.one_hot(self.busy, self.cfg.zones).float() * (self.t == 0)
        clock = torch.full((self.cfg.taxis, 1), self.t / self.cfg.horizon)
        return torch.cat([hint, clock], -1)

    def step(self, action):
        reward = (action == self.busy).float() - 0.2
        self.t += 1
        return self.obs(), reward


class Dispatcher(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gru = nn.GRU(cfg.zones + 1, cfg.hidden)
        self.head = nn.Linear(cfg.hidden, cfg.zones)
        self.value = nn.Linear(cfg.hidden, 1)
        self.to_probs = nn.Softmax(dim=-1)

    def forward(self, seq, h=None):
        out, h = self.gru(seq, h)
        return self.to_probs(self.head(out)), self.value(out).squeeze(-1), h


def play(env, net, cfg):
    obs, h, rows = env.reset(), None, []
    with torch.no_grad():
        for _ in range(cfg.horizon):
            probs, _, h = net(obs[None], h)
            action = torch.multinomial(probs[0], 1).squeeze(1)
            nxt, reward = env.step(action)
            rows.append((obs, action, reward))
            obs = nxt
    return [torch.stack(c) for c in zip(*rows)]


def rewards_to_go(rewards, gamma=0.9):
    out, run = [], torch.zeros_like(rewards[0])
    for r in rewards.flip(0):
        run = r + gamma * run
        out.append(run)
    return torch.stack(out[::-1])


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    env, net = Dispatch(cfg), Dispatcher(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for it in range(cfg.iterations):
        obs, actions, rewards = play(env, net, cfg)
        returns = rewards_to_go(rewards)
        probs, values, _ = net(obs)
        dist = torch.distributions.Categorical(probs=probs)
        advantage = returns - values.detach()
        pg_loss = -(dist.log_prob(actions) * advantage).mean()
        v_loss = (returns - values).pow(2).mean()
        loss = pg_loss + 0.5 * v_loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        if it % 15 == 14:
            print(f"iter {it + 1} reward {rewards.mean():.3f} value loss {v_loss.item():.3f} "
                  f"row sum {probs.sum(-1).mean():.3f} +- {probs.sum(-1).std():.3f}")


if __name__ == "__main__":
    main()

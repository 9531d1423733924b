import copy

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
N_STATES, N_OPTIONS, N_ACTIONS, GAMMA = 11, 2, 2, 0.95


class OptionCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(N_STATES + 2, hidden), nn.Tanh())
        self.q_omega = nn.Linear(hidden, N_OPTIONS)
        self.intra = nn.Linear(hidden, N_OPTIONS * N_ACTIONS)
        self.term = nn.Linear(hidden, N_OPTIONS)

    def q(self, s):
        return self.q_omega(self.embed(s))

    def policy(self, s, w):
        logits = self.intra(self.embed(s)).view(-1, N_OPTIONS, N_ACTIONS)
        return Categorical(logits=logits[torch.arange(len(w)), w])

    def termination(self, s, w):
        beta = torch.sigmoid(self.term(self.embed(s)))
        return beta.gather(1, w[:, None]).squeeze(1)


class Corridor:
    """Reach whichever end is lit; the light is part of the observation."""

    def __init__(self, n):
        self.n = n
        self.pos = torch.randint(1, N_STATES - 1, (n,))
        self.side = torch.randint(0, 2, (n,))

    def observe(self):
        one_hot = nn.functional.one_hot
        return torch.cat([one_hot(self.pos, N_STATES), one_hot(self.side, 2)], 1).float()

    def step(self, a):
        self.pos = (self.pos + 2 * a - 1).clamp(0, N_STATES - 1)
        hit = (self.pos == 0) | (self.pos == N_STATES - 1)
        won = hit & ((self.pos > 0).long() == self.side)
        reward = won.float() - 0.02
        nxt = self.observe()
        self.pos = torch.where(hit, torch.randint(1, N_STATES - 1, (self.n,)), self.pos)
        self.side = torch.where(hit, torch.randint(0, 2, (self.n,)), self.side)
        return nxt, reward, hit.float()


def choose_option(net, s, eps=0.1):
    best = net.q(s).argmax(1)
    rnd = torch.randint(0, N_OPTIONS, best.shape)
    return torch.where(torch.rand(best.shape) < eps, rnd, best)


def main(steps=400, n=32):
    torch.manual_seed(0)
    env, net = Corridor(n), OptionCritic()
    target = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    s = env.observe()
    with torch.no_grad():
        w = choose_option(net, s)
    score = 0.0
    for t in range(steps):
        dist = net.policy(s, w)
        a = dist.sample()
        s2, r, done = env.step(a)
        with torch.no_grad():
            q2, beta2 = target.q(s2), net.termination(s2, w)
            stay = q2.gather(1, w[:, None]).squeeze(1)
            best = q2.max(1).values
            y = r + GAMMA * (1 - done) * ((1 - beta2) * stay + beta2 * best)
            gain = stay - best + 0.01
        q = net.q(s).gather(1, w[:, None]).squeeze(1)
        critic_loss = (q - y).pow(2).mean()
        actor_loss = -(dist.log_prob(a) * (y - q).detach()).mean() - 0.01 * dist.entropy().mean()
        term_loss = (net.termination(s2, w) * gain * (1 - done)).mean()
        loss = critic_loss + actor_loss + term_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.lerp_(p, 0.05)
            s = env.observe()
            switch = torch.bernoulli(net.termination(s, w)).bool() | done.bool()
            w = torch.where(switch, choose_option(net, s), w)
        score = 0.97 * score + 0.03 * r.mean().item()
        if t % 80 == 0:
            print(f"step {t:4d} reward {score:+.4f} critic {critic_loss.item():.4f}")


if __name__ == "__main__":
    main()

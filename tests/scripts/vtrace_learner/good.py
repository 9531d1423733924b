from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, n_obs=6, n_act=3):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(n_obs, 40), nn.Tanh())
        self.pi = nn.Linear(40, n_act)
        self.v = nn.Linear(40, 1)

    def forward(self, obs):
        h = self.torso(obs)
        return self.pi(h), self.v(h).squeeze(-1)


@contextmanager
def frozen(model):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        yield model
    model.train(was_training)


class Signal:
    """Follow a drifting phase: three actions turn the dial left, keep it, or right."""

    def __init__(self, n=24):
        self.n = n
        self.phase = torch.rand(n) * 6.28
        self.dial = torch.rand(n) * 6.28

    def observe(self):
        d = self.phase - self.dial
        return torch.stack([self.phase.sin(), self.phase.cos(), self.dial.sin(), self.dial.cos(), d.sin(), d.cos()], 1)

    def step(self, a):
        self.dial = self.dial + 0.4 * (a - 1)
        self.phase = self.phase + 0.1 * torch.randn(self.n)
        return torch.cos(self.phase - self.dial)


def act_log_prob(logits, actions):
    return F.log_softmax(logits, -1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def vtrace(values, bootstrap, rewards, rho, gamma=0.8):
    rho = rho.clamp(max=1.0)
    nxt = torch.cat([values[1:], bootstrap[None]])
    delta = rho * (rewards + gamma * nxt - values)
    acc, out = torch.zeros_like(bootstrap), []
    for t in reversed(range(len(rewards))):
        acc = delta[t] + gamma * rho[t] * acc
        out.append(acc)
    vs = torch.stack(out[::-1]) + values
    adv = rho * (rewards + gamma * torch.cat([vs[1:], bootstrap[None]]) - values)
    return vs, adv


def learn(net, opt, batch):
    obs, actions, rewards, behaviour_logp, last_obs = batch
    with frozen(net):
        logits, values = net(obs)
        bootstrap = net(last_obs)[1]
        logp = act_log_prob(logits, actions)
        vs, adv = vtrace(values, bootstrap, rewards, (logp - behaviour_logp).exp())
    logits, baseline = net(obs)
    logp = act_log_prob(logits, actions)
    pg_loss = -(adv * logp).mean()
    baseline_loss = 0.5 * (vs - baseline).pow(2).mean()
    opt.zero_grad()
    (pg_loss + 0.5 * baseline_loss).backward()
    opt.step()


def actor(net, env, steps=12):
    obs, acts, rews, logps = [], [], [], []
    with frozen(net):
        for _ in range(steps):
            o = env.observe()
            logits, _ = net(o)
            a = torch.distributions.Categorical(logits=logits).sample()
            obs.append(o), acts.append(a), rews.append(env.step(a)), logps.append(act_log_prob(logits, a))
    return torch.stack(obs), torch.stack(acts), torch.stack(rews), torch.stack(logps), env.observe()


if __name__ == "__main__":
    torch.manual_seed(5)
    net, env = Net(), Signal()
    opt = torch.optim.RMSprop(net.parameters(), lr=2e-3, eps=1e-4)
    for update in range(120):
        batch = actor(net, env)
        learn(net, opt, batch)
        if update % 20 == 0:
            print(f"update {update:3d} mean reward {batch[2].mean().item():+.3f}")

"""A categorical latent model (4 groups of 6 classes) of a small machine, and an actor trained inside it."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, OneHotCategoricalStraightThrough

torch.set_num_threads(1)
GROUPS, CLASSES, ACT, OBS = 4, 6, 3, 6


def latent(flat_logits, unimix=0.01):
    logits = flat_logits.unflatten(-1, (GROUPS, CLASSES))
    probs = F.softmax(logits, dim=-1)
    probs = (1 - unimix) * probs + unimix / CLASSES
    return Independent(OneHotCategoricalStraightThrough(logits=probs), 1)  # <- culprit


def net(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.SiLU(), nn.Linear(48, o))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        z = GROUPS * CLASSES
        self.posterior, self.prior = net(OBS, z), net(z + ACT, z)
        self.decoder, self.reward = net(z, OBS), net(z, 1)

    def losses(self, obs, act, rew, nxt):
        z = latent(self.posterior(obs)).rsample().flatten(-2)
        post = latent(self.posterior(nxt))
        z2 = post.rsample().flatten(-2)
        prior = latent(self.prior(torch.cat([z, act], -1)))
        kl = torch.distributions.kl_divergence(post, prior).mean()
        return F.mse_loss(self.decoder(z2), nxt), F.mse_loss(self.reward(z2).squeeze(-1), rew), kl


class Machine:
    def __init__(self):
        self.gear = torch.randn(ACT, OBS)

    def batch(self, n=64):
        s = torch.sign(torch.randn(n, OBS)) + 0.1 * torch.randn(n, OBS)
        a = F.one_hot(torch.randint(ACT, (n,)), ACT).float()
        s2 = torch.tanh(s + a @ self.gear)
        return s, a, s2.mean(-1), s2


def train_actor(actor, model, opt, obs, horizon=4):
    with torch.no_grad():
        z = latent(model.posterior(obs)).sample().flatten(-2)
    logps, rews = [], []
    for _ in range(horizon):
        dist = torch.distributions.Categorical(logits=actor(z))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        with torch.no_grad():
            z = latent(model.prior(torch.cat([z, F.one_hot(a, ACT).float()], -1))).sample().flatten(-2)
            rews.append(model.reward(z).squeeze(-1))
    togo = torch.stack(rews).flip(0).cumsum(0).flip(0)
    adv = togo - togo.mean(1, keepdim=True)
    loss = -(torch.stack(logps) * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), torch.stack(rews).mean().item()


def main(steps=110):
    torch.manual_seed(6)
    machine, model, actor = Machine(), Model(), net(GROUPS * CLASSES, ACT)
    opt_m = torch.optim.Adam(model.parameters(), lr=4e-3)
    opt_a = torch.optim.Adam(actor.parameters(), lr=2e-3)
    for k in range(steps):
        obs, act, rew, nxt = machine.batch()
        rec, rw, kl = model.losses(obs, act, rew, nxt)
        opt_m.zero_grad()
        (rec + rw + 0.05 * kl).backward()
        opt_m.step()
        la, imagined = train_actor(actor, model, opt_a, obs)
        if k % 27 == 0:
            print(f"step {k} reconstruction {rec.item():.4f} reward {rw.item():.4f} kl {kl.item():.4f} actor {la:+.4f} imagined {imagined:.3f}")


if __name__ == "__main__":
    main()

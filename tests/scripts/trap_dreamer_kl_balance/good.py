"""A pocket DreamerV2: categorical straight-through latents, balanced KL, actor and critic in imagination."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, OneHotCategorical, kl_divergence

torch.set_num_threads(1)
OBS, ACT, DET, GROUPS, CLASSES = 6, 3, 32, 4, 4
STOCH = GROUPS * CLASSES


class RingEnv:
    """Six cells in a ring, turn left, stay, turn right; cell 0 pays."""

    def __init__(self, n, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.pos = torch.randint(0, OBS, (n,), generator=self.g)

    def obs(self):
        return F.one_hot(self.pos, OBS).float() + 0.05 * torch.randn(len(self.pos), OBS, generator=self.g)

    def step(self, a):
        self.pos = (self.pos + a - 1) % OBS
        return self.obs(), (self.pos == 0).float()


def onehots(logits):
    return Independent(OneHotCategorical(logits=logits.view(-1, GROUPS, CLASSES)), 1)


def straight_through(logits):
    dist = OneHotCategorical(logits=logits.view(-1, GROUPS, CLASSES))
    sample = dist.sample()
    return (sample + dist.probs - dist.probs.detach()).flatten(1)


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(STOCH + ACT, DET)
        self.prior = nn.Linear(DET, STOCH)
        self.posterior = nn.Sequential(nn.Linear(DET + OBS, 32), nn.ELU(), nn.Linear(32, STOCH))
        self.decoder = nn.Linear(DET + STOCH, OBS)
        self.reward = nn.Linear(DET + STOCH, 1)

    def observe(self, obs, act):
        h, z = torch.zeros(obs.shape[1], DET), torch.zeros(obs.shape[1], STOCH)
        feats, priors, posts = [], [], []
        for o, a in zip(obs, act):
            h = self.cell(torch.cat([z, a], 1), h)
            priors.append(self.prior(h))
            posts.append(self.posterior(torch.cat([h, o], 1)))
            z = straight_through(posts[-1])
            feats.append(torch.cat([h, z], 1))
        return torch.stack(feats), torch.cat(priors), torch.cat(posts)

    @torch.no_grad()
    def imagine(self, feat, actor, horizon):
        feats, acts = [feat], []
        for _ in range(horizon):
            h, z = feats[-1].split([DET, STOCH], 1)
            acts.append(Categorical(logits=actor(feats[-1])).sample())
            h = self.cell(torch.cat([z, F.one_hot(acts[-1], ACT).float()], 1), h)
            feats.append(torch.cat([h, straight_through(self.prior(h))], 1))
        return torch.stack(feats), torch.stack(acts)


def kl_loss(post, prior, balance=0.8):
    lhs = kl_divergence(onehots(post.detach()), onehots(prior)).mean()
    rhs = kl_divergence(onehots(post), onehots(prior.detach())).mean()
    return balance * lhs + (1 - balance) * rhs


def main(updates=40, gamma=0.8):
    torch.manual_seed(0)
    env, wm = RingEnv(16), WorldModel()
    actor = nn.Sequential(nn.Linear(DET + STOCH, 32), nn.ELU(), nn.Linear(32, ACT))
    critic = nn.Sequential(nn.Linear(DET + STOCH, 32), nn.ELU(), nn.Linear(32, 1))
    slow_critic = copy.deepcopy(critic)
    wm_opt = torch.optim.Adam(wm.parameters(), lr=1e-2)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=4e-3)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for update in range(updates):
        O, A, R, a = [], [], [], torch.ones(16, dtype=torch.long)
        for _ in range(8):
            o, r = env.step(a)
            O.append(o), A.append(F.one_hot(a, ACT).float()), R.append(r)
            a = torch.randint(0, ACT, (16,))
        O, A, R = torch.stack(O), torch.stack(A), torch.stack(R)

        feat, prior, post = wm.observe(O, A)
        recon = F.mse_loss(wm.decoder(feat), O, reduction="none").sum(-1).mean()
        reward = F.mse_loss(wm.reward(feat).squeeze(-1), R)
        kl = kl_loss(post, prior)
        model_loss = recon + reward + 0.1 * kl
        wm_opt.zero_grad()
        model_loss.backward()
        nn.utils.clip_grad_norm_(wm.parameters(), 10.0)
        wm_opt.step()

        feats, acts = wm.imagine(feat.detach().flatten(0, 1), actor, 5)
        with torch.no_grad():
            rewards, ret = wm.reward(feats[1:]).squeeze(-1), slow_critic(feats[-1]).squeeze(-1)
            returns = []
            for r in rewards.flip(0):
                ret = r + gamma * ret
                returns.insert(0, ret)
            returns = torch.stack(returns)
        value = critic(feats[:-1]).squeeze(-1)
        policy = Categorical(logits=actor(feats[:-1]))
        actor_loss = -(policy.log_prob(acts) * (returns - value.detach()) + 0.003 * policy.entropy()).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        critic_loss = F.mse_loss(value, returns)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        with torch.no_grad():
            for p, sp in zip(critic.parameters(), slow_critic.parameters()):
                sp.lerp_(p, 0.1)
        if update % 8 == 0:
            print(f"update {update} recon {recon.item():.3f} reward {reward.item():.3f} kl {kl.item():.3f} imagined {returns.mean():.3f}")


if __name__ == "__main__":
    main()

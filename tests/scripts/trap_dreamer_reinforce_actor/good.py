import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(0)
MOVES = torch.tensor([[0.3, 0.0], [-0.3, 0.0], [0.0, 0.3], [0.0, -0.3]])


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.ELU(), nn.Linear(h, o))


class WorldModel(nn.Module):
    def __init__(self, z=16):
        super().__init__()
        self.enc, self.dyn, self.dec, self.rew = nn.Sequential(mlp(2, z), nn.Tanh()), mlp(z + 4, z), mlp(z, 2), mlp(z, 1)

    def forward_step(self, z, onehot):
        return torch.tanh(z + self.dyn(torch.cat([z, onehot], -1)))

    def training_loss(self, x, a, x2, r):
        z = self.enc(x)
        z2 = self.forward_step(z, F.one_hot(a, 4).float())
        return F.mse_loss(self.dec(z), x) + F.mse_loss(self.dec(z2), x2) + F.mse_loss(self.rew(z2).squeeze(-1), r)


class ActorCritic(nn.Module):
    def __init__(self, z=16, gamma=0.9, lam=0.9, entropy=3e-3):
        super().__init__()
        self.actor, self.critic = mlp(z, 4), mlp(z, 1)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.gamma, self.lam, self.entropy = gamma, lam, entropy

    def training_losses(self, states, actions, rewards):
        reward1 = rewards.detach()
        value_t = self.critic_target(states).squeeze(-1)
        value0t, value1t = value_t[:-1], value_t[1:]
        advantage = (reward1 + self.gamma * value1t - value0t).detach()
        agae, gae = None, []
        for adv in reversed(advantage.unbind()):
            agae = adv if agae is None else adv + self.lam * self.gamma * agae
            gae.append(agae)
        gae = torch.stack(gae[::-1])
        target = (gae + value0t).detach()
        loss_critic = 0.5 * (target - self.critic(states[:-1]).squeeze(-1)).square().mean()
        policy = Categorical(logits=self.actor(states[:-1]))
        loss_policy = -policy.log_prob(actions) * gae
        loss_actor = (loss_policy - self.entropy * policy.entropy()).mean()
        assert loss_actor.requires_grad and not gae.requires_grad
        return loss_actor, loss_critic

    def update_critic_target(self):
        self.critic_target.load_state_dict(self.critic.state_dict())


@torch.no_grad()
def dream(wm, ac, z, horizon=6):
    states, actions, rewards = [z], [], []
    for _ in range(horizon):
        a = Categorical(logits=ac.actor(z)).sample()
        z = wm.forward_step(z, F.one_hot(a, 4).float())
        states.append(z)
        actions.append(a)
        rewards.append(wm.rew(z).squeeze(-1))
    return torch.stack(states), torch.stack(actions), torch.stack(rewards)


wm, ac = WorldModel(), ActorCritic()
wm_opt = torch.optim.AdamW(wm.parameters(), lr=3e-3)
actor_opt = torch.optim.AdamW(ac.actor.parameters(), lr=2e-3)
critic_opt = torch.optim.AdamW(ac.critic.parameters(), lr=3e-3)
for step in range(160):
    x = torch.rand(64, 2) * 2 - 1
    a = torch.randint(0, 4, (64,))
    x2 = (x + MOVES[a]).clamp(-1, 1)
    loss_wm = wm.training_loss(x, a, x2, 1 - x2.abs().sum(-1))
    for opt in (wm_opt, actor_opt, critic_opt):
        opt.zero_grad()
    loss_wm.backward()
    loss_actor, loss_critic = ac.training_losses(*dream(wm, ac, wm.enc(x).detach()))
    loss_actor.backward()
    loss_critic.backward()
    for opt in (wm_opt, actor_opt, critic_opt):
        nn.utils.clip_grad_norm_(opt.param_groups[0]["params"], 100.0)
        opt.step()
    if step % 20 == 19:
        ac.update_critic_target()
    if step % 40 == 39:
        print(f"step {step + 1} wm {loss_wm.item():.4f} actor {loss_actor.item():+.4f} critic {loss_critic.item():.4f}")

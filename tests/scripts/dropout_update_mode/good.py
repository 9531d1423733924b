import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Dispatch:
    """Send each order to one of four depots; cost depends on order features and depot load."""

    def __init__(self, n=32, seed=13):
        self.n, self.g = n, torch.Generator().manual_seed(seed)
        self.cost = torch.rand(5, 4, generator=self.g)
        self.load = torch.zeros(n, 4)
        self._order()

    def _order(self):
        self.order = torch.rand(self.n, 5, generator=self.g)

    def obs(self):
        return torch.cat([self.order, self.load], 1)

    def step(self, depot):
        chosen = nn.functional.one_hot(depot, 4).float()
        reward = 1 - (self.order @ self.cost * chosen).sum(1) - (self.load * chosen).sum(1)
        self.load = 0.7 * self.load + 0.3 * chosen
        self._order()
        return reward


class DispatchPolicy(nn.Module):
    def __init__(self, p_drop=0.2, width=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(9, width), nn.Tanh(), nn.Dropout(p_drop),
            nn.Linear(width, width), nn.Tanh(), nn.Dropout(p_drop),
        )
        self.logits = nn.Linear(width, 4)

    def forward(self, obs):
        return Categorical(logits=self.logits(self.encoder(obs)))


class Trainer:
    def __init__(self, env):
        self.env = env
        self.policy = DispatchPolicy()
        self.value = nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 1))
        self.optimizer = torch.optim.Adam([*self.policy.parameters(), *self.value.parameters()], lr=7e-4)

    @torch.no_grad()
    def rollout(self, horizon=12, gamma=0.5):
        self.policy.eval()
        obs, act, logp, rew = [], [], [], []
        for _ in range(horizon):
            o = self.env.obs()
            dist = self.policy(o)
            a = dist.sample()
            obs.append(o), act.append(a), logp.append(dist.log_prob(a)), rew.append(self.env.step(a))
        run, rets = self.value(self.env.obs()).squeeze(-1), []
        for r in reversed(rew):
            run = r + gamma * run
            rets.insert(0, run)
        obs, act, logp, ret = torch.cat(obs), torch.cat(act), torch.cat(logp), torch.cat(rets)
        adv = ret - self.value(obs).squeeze(-1)
        return obs, act, logp, ret, (adv - adv.mean()) / (adv.std() + 1e-8), torch.cat(rew).mean().item()

    def update(self, obs, act, old_logp, ret, adv, epochs=4, clip=0.2):
        log = []
        for _ in range(epochs):
            for idx in torch.randperm(len(act)).split(128):
                dist = self.policy(obs[idx])
                ratio = (dist.log_prob(act[idx]) - old_logp[idx]).exp()
                surrogate = torch.min(ratio * adv[idx], ratio.clamp(1 - clip, 1 + clip) * adv[idx])
                v_loss = (self.value(obs[idx]).squeeze(-1) - ret[idx]).pow(2).mean()
                loss = -surrogate.mean() + 0.5 * v_loss - 0.01 * dist.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                log.append(v_loss.item())
        return sum(log) / len(log)


def main():
    torch.manual_seed(13)
    trainer = Trainer(Dispatch())
    for it in range(10):
        *batch, reward = trainer.rollout()
        v_loss = trainer.update(*batch)
        if it % 3 == 0:
            print(f"iter {it} reward {reward:.3f} value loss {v_loss:.4f}")


if __name__ == "__main__":
    main()

# %% imports
import torch
import torch.nn as nn

torch.set_num_threads(1)
_ = torch.manual_seed(66)


# %% environment: sell a perishable stock, five price levels
class Shop:
    prices = torch.tensor([0.4, 0.6, 0.8, 1.0, 1.2])

    def __init__(self, shops):
        self.shops = shops
        self.stock = torch.full((shops,), 6.0)
        self.day = torch.zeros(shops)

    def state(self):
        return torch.stack([self.stock / 6, self.day / 8, (self.stock / (9 - self.day)).clamp(0, 2)], 1)

    def sell(self, level):
        price = self.prices[level]
        demand = torch.poisson((2.2 - 1.5 * price).clamp(min=0.1))
        sold = torch.minimum(demand, self.stock)
        self.stock = self.stock - sold
        self.day = self.day + 1
        closed = self.day >= 8
        reward = price * sold
        self.stock = torch.where(closed, torch.full_like(self.stock, 6.0), self.stock)
        self.day = torch.where(closed, torch.zeros_like(self.day), self.day)
        return reward, closed.float()


# %% networks
actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 5))
critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
shop = Shop(32)

# %% training
for step in range(320):
    s = shop.state()
    dist = torch.distributions.Categorical(logits=actor(s))
    level = dist.sample()
    reward, closed = shop.sell(level)
    with torch.no_grad():
        target = reward + 0.98 * (1 - closed) * critic(shop.state()).squeeze(1)
    value = critic(s).squeeze(1)
    td = target - value

    actor_loss = -(dist.log_prob(level) * td.detach()).mean() - 0.01 * dist.entropy().mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    critic_loss = td.pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward  # <- culprit
    critic_opt.step()

    if step % 64 == 63:
        print(f"step {step} revenue {reward.mean():.3f} critic loss {critic_loss.item():.3f}")

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Catch:
    """Vectorised: a ball falls down a 5x5 board, move the paddle under it."""

    W = H = 5

    def __init__(self, n):
        self.n = n
        self.reset(torch.ones(n, dtype=torch.bool))
        self.paddle = torch.full((n,), 2)

    def reset(self, which):
        if not hasattr(self, "col"):
            self.col = torch.zeros(self.n, dtype=torch.long)
            self.row = torch.zeros(self.n, dtype=torch.long)
        self.col = torch.where(which, torch.randint(0, self.W, (self.n,)), self.col)
        self.row = torch.where(which, torch.zeros_like(self.row), self.row)

    def obs(self):
        onehot = F.one_hot
        return torch.cat([onehot(self.col, self.W), onehot(self.row, self.H), onehot(self.paddle, self.W)], 1).float()

    def step(self, action):
        self.paddle = (self.paddle + action - 1).clamp(0, self.W - 1)
        self.row = self.row + 1
        done = self.row == self.H - 1
        caught = (self.paddle == self.col).float() * 2 - 1
        reward = torch.where(done, caught, torch.zeros(self.n))
        self.reset(done)
        return self.obs(), reward, done.float()


def net(out):
    return nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, out))


def main(n_envs=16, n_steps=8, updates=40, gamma=0.95):
    torch.manual_seed(0)
    env = Catch(n_envs)
    actor, critic = net(3), net(1)
    opt = torch.optim.Adam([{"params": actor.parameters()}, {"params": critic.parameters(), "lr": 3e-3}], lr=3e-3)
    obs, mean_reward = env.obs(), 0.0
    for update in range(updates):
        states, actions, rewards, dones = [], [], [], []
        for _ in range(n_steps):
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=actor(obs)).sample()
            nxt, r, d = env.step(a)
            states.append(obs), actions.append(a), rewards.append(r), dones.append(d)
            obs = nxt

        with torch.no_grad():
            future = critic(obs).squeeze(1)
            targets = []
            for r, d in zip(reversed(rewards), reversed(dones)):
                future = r + gamma * (1 - d) * future
                targets.append(future)
            targets = torch.cat(targets[::-1])

        states = torch.cat(states)
        dist = torch.distributions.Categorical(logits=actor(states))
        log_prob = dist.log_prob(torch.cat(actions))
        entropy = dist.entropy().mean()

        value = critic(states).squeeze(1)
        advantage = targets - value.detach()
        actor_loss = -(log_prob * advantage).mean() - 0.01 * entropy
        critic_loss = F.mse_loss(value, targets)
        opt.zero_grad()
        (actor_loss + critic_loss).backward()
        opt.step()

        finished = torch.cat(dones).sum().clamp(min=1)
        mean_reward = float(torch.cat(rewards).sum() / finished)
        if update % 8 == 0:
            print(f"update {update:3d} reward per ball {mean_reward:+.3f} critic {critic_loss.item():.3f} entropy {entropy.item():.3f}")


if __name__ == "__main__":
    main()

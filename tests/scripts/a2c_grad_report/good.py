import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Chain:
    """Move right for a delayed reward, left for a small immediate one."""

    def __init__(self, n_envs=16, length=6, seed=1):
        self.n, self.length = n_envs, length
        self.g = torch.Generator().manual_seed(seed)
        self.pos = torch.randint(0, length, (n_envs,), generator=self.g)

    def observe(self):
        return nn.functional.one_hot(self.pos, self.length).float()

    def step(self, action):
        self.pos = (self.pos + 2 * action - 1).clamp(min=0)
        at_end = self.pos >= self.length - 1
        reward = torch.where(at_end, 1.0, torch.where(self.pos == 0, 0.1, 0.0))
        fresh = torch.randint(0, self.length - 1, (self.n,), generator=self.g)
        self.pos = torch.where(at_end, fresh, self.pos)
        return self.observe(), reward, at_end.float()


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.policy = nn.Linear(32, act)
        self.baseline = nn.Linear(32, 1)

    def forward(self, x):
        z = self.torso(x)
        return Categorical(logits=self.policy(z)), self.baseline(z).squeeze(-1)


def rollout(env, net, obs, horizon):
    steps = []
    with torch.no_grad():
        for _ in range(horizon):
            dist, value = net(obs)
            action = dist.sample()
            nxt, reward, done = env.step(action)
            steps.append((obs, action, reward, done))
            obs = nxt
        bootstrap = net(obs)[1]
    return steps, bootstrap, obs


def nstep_returns(steps, bootstrap, gamma):
    out, running = [], bootstrap
    for _, _, reward, done in reversed(steps):
        running = reward + gamma * running * (1 - done)
        out.append(running)
    return torch.stack(out[::-1])


def grad_report(named, grads):
    return {name: g.norm().item() for (name, _), g in zip(named, grads)}


def main():
    torch.manual_seed(1)
    env = Chain()
    net = ActorCritic(env.length, 2)
    named = list(net.named_parameters())
    params = [p for _, p in named]
    opt = torch.optim.Adam(params, lr=2e-3)
    obs = env.observe()
    for update in range(45):
        steps, bootstrap, obs = rollout(env, net, obs, horizon=5)
        returns = nstep_returns(steps, bootstrap, gamma=0.9)
        states = torch.stack([s[0] for s in steps])
        actions = torch.stack([s[1] for s in steps])
        dist, values = net(states)
        advantage = (returns - values).detach()
        policy_loss = -(dist.log_prob(actions) * advantage).mean()
        value_loss = (returns - values).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.02 * dist.entropy().mean()
        grads = torch.autograd.grad(loss, params)
        for p, g in zip(params, grads):
            p.grad = g
        stats = grad_report(named, grads)
        opt.step()
        if update % 11 == 0:
            reward = torch.stack([s[2] for s in steps]).mean()
            print(f"update {update} reward {reward:.3f} |g(policy)| {stats['policy.weight']:.4f} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()

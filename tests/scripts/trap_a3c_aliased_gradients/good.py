import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self, s_dim, a_dim):
        super().__init__()
        self.pi1, self.pi2 = nn.Linear(s_dim, 48), nn.Linear(48, a_dim)
        self.v1, self.v2 = nn.Linear(s_dim, 48), nn.Linear(48, 1)

    def forward(self, x):
        return self.pi2(torch.tanh(self.pi1(x))), self.v2(torch.tanh(self.v1(x))).squeeze(-1)


def ensure_shared_grads(model, shared_model):
    for param, shared_param in zip(model.parameters(), shared_model.parameters()):
        if shared_param.grad is not None:
            return
        shared_param._grad = param.grad


class Parking:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def reset(self):
        self.x = torch.rand(2, generator=self.g) * 2 - 1
        self.t = 0
        return self.x.clone()

    def step(self, a):
        push = torch.tensor([[0.3, 0.0], [-0.3, 0.0], [0.0, 0.3], [0.0, -0.3]])[a]
        self.x = (self.x + push).clamp(-1.5, 1.5)
        self.t += 1
        return self.x.clone(), 1.0 - self.x.abs().sum().item(), self.t >= 8


def loss_of(net, obs, act, ret):
    logits, v = net(obs)
    dist = torch.distributions.Categorical(logits=logits)
    adv = (ret - v).detach()
    return (-dist.log_prob(act) * adv - 0.01 * dist.entropy() + 0.5 * (ret - v).pow(2)).mean()


def play(net, env, gamma=0.9):
    obs, act, rew = [], [], []
    s, done = env.reset(), False
    while not done:
        with torch.no_grad():
            a = int(torch.distributions.Categorical(logits=net(s)[0]).sample())
        obs.append(s)
        act.append(a)
        s, r, done = env.step(a)
        rew.append(r)
    ret, run = [], 0.0
    for r in reversed(rew):
        run = r + gamma * run
        ret.insert(0, run)
    return torch.stack(obs), torch.tensor(act), torch.tensor(ret), sum(rew)


def main():
    torch.manual_seed(0)
    shared = Net(2, 4)
    optimizer = torch.optim.Adam(shared.parameters(), lr=4e-3)
    env, local = Parking(0), Net(2, 4)
    scores = []
    for episode in range(160):
        local.load_state_dict(shared.state_dict())
        obs, act, ret, score = play(local, env)
        local.zero_grad(set_to_none=False)
        loss_of(local, obs, act, ret).backward()
        ensure_shared_grads(local, shared)
        optimizer.step()
        scores.append(score)
        if episode % 40 == 39:
            print(f"episode {episode + 1} score {sum(scores[-40:]) / 40:.3f}")


if __name__ == "__main__":
    main()

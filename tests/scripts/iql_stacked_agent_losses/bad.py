import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class QNetwork(nn.Module):
    def __init__(self, obs, acts):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(obs, 24), nn.Linear(24, acts)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class TrafficLights:
    """Two crossings, each agent opens one of two roads; queues grow at random."""

    def __init__(self, n_agents=2):
        self.n = n_agents

    def reset(self):
        self.q = torch.randint(0, 4, (self.n, 2)).float()
        return self.q / 10

    def step(self, actions):
        self.q = self.q + torch.randint(0, 2, (self.n, 2))
        self.q[torch.arange(self.n), actions] = (self.q[torch.arange(self.n), actions] - 2).clamp(min=0)
        self.q = self.q.clamp(max=10)
        return self.q / 10, -self.q.sum(1) / 10


class IQL:
    def __init__(self, n, obs, acts, cfg):
        self.cfg, self.n = cfg, n
        self.nets = nn.ModuleList([QNetwork(obs, acts) for _ in range(n)])
        self.targets = nn.ModuleList([QNetwork(obs, acts) for _ in range(n)])
        self.targets.load_state_dict(self.nets.state_dict())
        self.opt = torch.optim.Adam(self.nets.parameters(), lr=cfg["lr"])

    def act(self, obs, eps):
        with torch.no_grad():
            greedy = torch.stack([net(o).argmax() for net, o in zip(self.nets, obs)])
        explore = torch.rand(self.n) < eps
        return torch.where(explore, torch.randint(0, 2, (self.n,)), greedy)

    def learn(self, batch):
        obs, act, rew, nxt = (torch.stack(c) for c in zip(*batch))
        losses = []
        for i in range(self.n):
            q = self.nets[i](obs[:, i]).gather(1, act[:, i : i + 1]).squeeze(1)
            with torch.no_grad():
                y = rew[:, i] + self.cfg["gamma"] * self.targets[i](nxt[:, i]).max(1).values
            losses.append(F.mse_loss(q, y))
        loss = torch.stack(losses)
        self.opt.zero_grad()
        loss.backward()  # <- culprit
        self.opt.step()
        return loss.detach()


def main():
    torch.manual_seed(2)
    cfg = {"lr": 2e-3, "gamma": 0.9, "batch": 32, "steps": 160}
    env, agents, memory = TrafficLights(), IQL(2, 2, 2, cfg), []
    obs = env.reset()
    for t in range(cfg["steps"]):
        a = agents.act(obs, eps=0.2)
        nxt, r = env.step(a)
        memory.append((obs, a, r, nxt))
        obs = nxt if t % 20 != 19 else env.reset()
        if t >= 40 and t % 4 == 0:
            pick = torch.randint(len(memory), (cfg["batch"],)).tolist()
            losses = agents.learn([memory[i] for i in pick])
            if t % 40 == 0:
                agents.targets.load_state_dict(agents.nets.state_dict())
                print(f"t {t} reward {r.mean():.2f} losses {[round(x, 4) for x in losses.tolist()]}")


if __name__ == "__main__":
    main()

import torch
from torch import nn
from torch.distributions import Categorical

torch.set_num_threads(1)


class Rendezvous:
    """Two agents on a ring of five cells, rewarded for meeting."""

    def __init__(self, n=32, cells=5, seed=7):
        self.n, self.cells = n, cells
        self.g = torch.Generator().manual_seed(seed)
        self.pos = torch.randint(0, cells, (n, 2), generator=self.g)

    def state(self):
        return nn.functional.one_hot(self.pos, self.cells).float()

    def step(self, joint):
        self.pos = (self.pos + joint - 1) % self.cells
        met = (self.pos[:, 0] == self.pos[:, 1]).float()
        move_cost = 0.05 * (joint != 1).float().sum(1)
        fresh = torch.randint(0, self.cells, (self.n, 2), generator=self.g)
        self.pos = torch.where(met.bool().unsqueeze(1), fresh, self.pos)
        return self.state(), met - move_cost, met


class Learner:
    def __init__(self, cells, n_agents=2, n_actions=3, gamma=0.9):
        width = 32
        joint = n_agents * cells
        self.gamma = gamma
        self.nets = nn.ModuleDict({
            "critic": nn.Sequential(nn.Linear(joint, width), nn.Tanh(), nn.Linear(width, 1)),
            "actors": nn.ModuleList(
                nn.Sequential(nn.Linear(joint, width), nn.Tanh(), nn.Linear(width, n_actions)) for _ in range(n_agents)
            ),
        })
        self.opt = {
            "critic": torch.optim.Adam(self.nets["critic"].parameters(), lr=5e-3),
            "actors": torch.optim.Adam(self.nets["actors"].parameters(), lr=3e-3),
        }

    def policies(self, state):
        flat = state.flatten(1)
        return [Categorical(logits=actor(flat)) for actor in self.nets["actors"]]

    def value(self, state):
        return self.nets["critic"](state.flatten(1)).squeeze(1)

    @torch.no_grad()
    def act(self, state):
        return torch.stack([d.sample() for d in self.policies(state)], dim=1)

    def learn(self, state, joint, reward, nxt, done):
        with torch.no_grad():
            target = reward + self.gamma * (1 - done) * self.value(nxt)
        value = self.value(state)
        critic_loss = (value - target).square().mean()
        self.nets.zero_grad()
        critic_loss.backward()

        advantage = (target - value).detach()
        logps = torch.stack([d.log_prob(joint[:, i]) for i, d in enumerate(self.policies(state))], dim=1)
        actor_loss = -(logps.sum(1) * advantage).mean()
        actor_loss.backward()

        for opt in self.opt.values():
            opt.step()
        return critic_loss.item(), actor_loss.item()


if __name__ == "__main__":
    torch.manual_seed(7)
    env = Rendezvous()
    learner = Learner(env.cells)
    state = env.state()
    for t in range(200):
        joint = learner.act(state)
        nxt, reward, done = env.step(joint)
        c, a = learner.learn(state, joint, reward, nxt, done)
        state = nxt
        if t % 40 == 0:
            print(f"t {t} reward {reward.mean():.3f} critic {c:.4f} actor {a:+.4f}")

"""One policy for a growing list of tasks: a shared trunk, one head per task in a ModuleList, and an auxiliary
next-symbol model whose output matrix is tied to the input embedding. New heads join the optimizer when they are made."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
SYMBOLS, DIM, ACTIONS = 12, 24, 4


class Tasks:
    """Task k: a symbol is shown, the right action is (symbol + k) mod 4, worth more for some; the next symbol follows a fixed chain."""

    def __init__(self, seed=0):
        self.g = torch.Generator().manual_seed(seed)
        self.chain = torch.randperm(SYMBOLS, generator=self.g)

    def sample(self, n):
        sym = torch.randint(0, SYMBOLS, (n,), generator=self.g)
        slip = torch.rand(n, generator=self.g) < 0.1
        nxt = torch.where(slip, torch.randint(0, SYMBOLS, (n,), generator=self.g), self.chain[sym])
        return sym, nxt

    @staticmethod
    def reward(task, sym, action):
        worth = 0.5 + 0.5 * (sym % 3)
        return worth * (action == (sym + task) % ACTIONS).float()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = nn.Linear(DIM, ACTIONS), nn.Linear(DIM, 1)

    def forward(self, h):
        return self.pi(h), self.v(h).squeeze(-1)


class MultiTaskAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, DIM)
        nn.init.normal_(self.embed.weight, std=DIM ** -0.5)
        self.trunk = nn.ModuleList([nn.Linear(DIM, DIM) for _ in range(2)])
        self.decode = nn.Linear(DIM, SYMBOLS, bias=False)
        self.decode.weight = self.embed.weight
        self.heads = nn.ModuleList()

    def add_head(self):
        self.heads.append(Head())
        return self.heads[-1]

    def features(self, sym):
        x = self.embed(sym)
        for layer in self.trunk:
            x = x + torch.tanh(layer(x))
        return x

    def forward(self, sym, task):
        h = self.features(sym)
        logits, value = self.heads[task](h)
        return torch.distributions.Categorical(logits=logits), value, self.decode(h)


def update(agent, optimizer, tasks, task):
    sym, nxt = tasks.sample(64)
    dist, value, symbol_logits = agent(sym, task)
    action = dist.sample()
    reward = tasks.reward(task, sym, action)
    advantage = (reward - value).detach()
    pg = -(advantage * dist.log_prob(action)).mean()
    vf = F.mse_loss(value, reward)
    aux = F.cross_entropy(symbol_logits, nxt)
    loss = pg + 0.5 * vf + 0.1 * aux - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return reward.mean().item(), aux.item()


def main(n_tasks=3, updates_per_task=16):
    torch.manual_seed(0)
    tasks, agent = Tasks(), MultiTaskAgent()
    agent.add_head()
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-2)
    rng = torch.Generator().manual_seed(1)
    for stage in range(n_tasks):
        if stage:
            head = agent.add_head()
            optimizer.add_param_group({"params": head.parameters(), "lr": 2e-2})
        for i in range(updates_per_task):
            # mostly the newest task, with rehearsal of the older ones
            old = stage and torch.rand((), generator=rng) < 0.4
            task = int(torch.randint(0, stage, (), generator=rng)) if old else stage
            reward, aux = update(agent, optimizer, tasks, task)
            if i % 5 == 0:
                print(f"stage {stage} update {i} task {task} reward {reward:.3f} symbols {aux:.3f}")
    print("groups", [len(g["params"]) for g in optimizer.param_groups])


if __name__ == "__main__":
    main()

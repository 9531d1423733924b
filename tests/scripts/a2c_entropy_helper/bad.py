import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

PAYOFF = torch.tensor([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


class SimpleNet(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU())
        self.policy_logits = nn.Linear(hidden, n_out)
        self.baseline = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.torso(x)
        return self.policy_logits(h), self.baseline(h).squeeze(-1)


def compute_entropy_loss(policy_logits):
    """Mean of sum_a p log p."""
    return (F.softmax(policy_logits, -1) * F.log_softmax(policy_logits, -1)).sum(-1).mean()


def compute_baseline_loss(returns, baseline):
    return 0.5 * (returns - baseline).pow(2).mean()


class BatchA2CLoss:
    def __init__(self, entropy_cost=None, name="batch_a2c_loss"):
        self._entropy_cost = entropy_cost
        self._name = name

    def loss(self, policy_logits, baseline, actions, returns):
        advantages = (returns - baseline).detach()
        ce = F.cross_entropy(policy_logits, actions, reduction="none")
        total_loss = (ce * advantages).mean()
        if self._entropy_cost:
            entropy_loss = self._entropy_cost * compute_entropy_loss(policy_logits)
            total_loss = total_loss - entropy_loss  # <- culprit
        return total_loss


class PolicyGradient:
    def __init__(self, player_id, entropy_cost=0.1, lr=3e-3, critic_lr=1e-2):
        self.player_id = player_id
        self.net = SimpleNet(4, 32, 3)
        self.loss = BatchA2CLoss(entropy_cost)
        heads = [*self.net.torso.parameters(), *self.net.policy_logits.parameters()]
        self.optimizer = torch.optim.Adam(
            [{"params": heads, "lr": lr}, {"params": self.net.baseline.parameters(), "lr": critic_lr}]
        )

    def step(self, obs):
        with torch.no_grad():
            logits, _ = self.net(obs)
        return torch.distributions.Categorical(logits=logits).sample()

    def learn(self, obs, actions, returns):
        logits, baseline = self.net(obs)
        pi_loss = self.loss.loss(logits, baseline, actions, returns)
        critic_loss = compute_baseline_loss(returns, baseline)
        self.optimizer.zero_grad()
        (pi_loss + critic_loss).backward()
        self.optimizer.step()
        with torch.no_grad():
            return torch.distributions.Categorical(logits=logits).entropy().mean().item()


def deal(n):
    """Each player sees a noisy card that shifts the payoff of one action."""
    card = torch.randint(0, 3, (n,))
    onehot = F.one_hot(card, 3).float()
    return torch.cat([onehot + 0.1 * torch.randn(n, 3), torch.ones(n, 1)], 1), card


agents = [PolicyGradient(0), PolicyGradient(1)]
for episode in range(200):
    obs = [deal(64) for _ in agents]
    acts = [agent.step(o) for agent, (o, _) in zip(agents, obs)]
    base = PAYOFF[acts[0], acts[1]]
    returns = [base + 0.5 * (acts[0] == obs[0][1]).float(), -base + 0.5 * (acts[1] == obs[1][1]).float()]
    ent = [agent.learn(o, a, r) for agent, (o, _), a, r in zip(agents, obs, acts, returns)]
    if episode % 40 == 39:
        print(f"episode {episode + 1} returns {returns[0].mean():+.3f} {returns[1].mean():+.3f} entropy {ent[0]:.3f} {ent[1]:.3f}")

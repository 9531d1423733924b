import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
V, NEW, DTYPE = 14, 5, torch.bfloat16


class ScaledLinear(nn.Module):
    """A frozen projection whose outputs are rescaled by a learned vector."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.scale = nn.Parameter(torch.ones(base.out_features, dtype=base.weight.dtype))  # <- culprit

    def forward(self, x):
        return (self.base(x) * self.scale).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        self.mix = nn.Linear(d, d)

    def forward(self, x):
        h = self.norm(x)
        prev = F.pad(h, (0, 0, 1, 0))[:, :-1]
        return x + self.down(F.silu(self.up(h + self.mix(prev))))


class LM(nn.Module):
    def __init__(self, d=48, depth=2):
        super().__init__()
        self.tok, self.norm = nn.Embedding(V, d), nn.LayerNorm(d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(depth))
        self.head = nn.Linear(d, V)

    def forward(self, ids):
        x = self.tok(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).float()


def add_adapters(model):
    model.requires_grad_(False)
    for layer in model.layers:
        layer.up = ScaledLinear(layer.up)
        layer.down = ScaledLinear(layer.down)
        layer.mix = ScaledLinear(layer.mix)
    model.head = ScaledLinear(model.head)
    return [p for p in model.parameters() if p.requires_grad]


@torch.no_grad()
def sample(model, prompts):
    ids, logps = prompts, []
    for _ in range(NEW):
        logp = F.log_softmax(model(ids)[:, -1], -1)
        tok = torch.multinomial(logp.exp(), 1)
        logps.append(logp.gather(1, tok))
        ids = torch.cat([ids, tok], 1)
    return ids, torch.cat(logps, 1)


def token_logps(model, ids, start):
    logp = F.log_softmax(model(ids[:, :-1]), -1)
    return logp.gather(2, ids[:, 1:, None]).squeeze(2)[:, start - 1:]


def group_advantage(reward, k):
    r = reward.view(-1, k)
    return ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).view(-1, 1)


def main(iters=25, k=8):
    torch.manual_seed(2)
    policy = LM().to(DTYPE)
    adapters = add_adapters(policy)
    optimizer = torch.optim.Adam(adapters, lr=1e-3)
    for it in range(iters):
        prompts = torch.randint(0, V, (4, 2)).repeat_interleave(k, 0)
        ids, old = sample(policy, prompts)
        reward = (ids[:, 2:] < V // 2).float().mean(1)
        adv = group_advantage(reward, k)
        for _ in range(2):
            ratio = (token_logps(policy, ids, 2) - old).exp()
            loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()  # <- culprit
        if it % 6 == 0:
            norm = sum(p.grad.float().pow(2).sum() for p in adapters).sqrt()
            print(f"iter {it} reward {reward.mean():.3f} loss {loss.item():+.5f} grad norm {norm:.3f}")


if __name__ == "__main__":
    main()

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class MLP(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.gate_proj = nn.Linear(d, h, bias=False)
        self.up_proj = nn.Linear(d, h, bias=False)
        self.down_proj = nn.Linear(h, d, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class TrainLM(nn.Module):
    """Reads the previous two tokens."""

    def __init__(self, vocab=12, d=24, h=48, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.mix = nn.Linear(2 * d, d)
        self.mlps = nn.ModuleList(MLP(d, h) for _ in range(depth))
        self.lm_head = nn.Linear(d, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        x = self.mix(torch.cat([x, F.pad(x, (0, 0, 1, 0))[:, :-1]], -1))
        for m in self.mlps:
            x = x + m(x)
        return self.lm_head(x)


class FusedMLP(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.gate_up_proj = nn.Linear(d, 2 * h, bias=False)
        self.down_proj = nn.Linear(h, d, bias=False)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, -1)
        return self.down_proj(F.silu(gate) * up)


class InferenceLM(nn.Module):
    """Same model in the layout of the serving engine: gate and up projections are one matrix."""

    def __init__(self, vocab=12, d=24, h=48, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.mix = nn.Linear(2 * d, d)
        self.mlps = nn.ModuleList(FusedMLP(d, h) for _ in range(depth))
        self.lm_head = nn.Linear(d, vocab)
        self.requires_grad_(False)

    @torch.no_grad()
    def load_from(self, src):
        for name in ("embed", "mix", "lm_head"):
            getattr(self, name).load_state_dict(getattr(src, name).state_dict())
        for mine, theirs in zip(self.mlps, src.mlps):
            stacked = []
            stacked.append(theirs.gate_proj.weight)
            stacked.append(theirs.gate_proj.weight)  # <- culprit
            mine.gate_up_proj.weight.copy_(torch.cat(stacked, 0))  # <- culprit
            mine.down_proj.weight.copy_(theirs.down_proj.weight)

    @torch.no_grad()
    def generate(self, ids, n_new):
        logps = []
        for _ in range(n_new):
            x = self.embed(ids)
            x = self.mix(torch.cat([x, F.pad(x, (0, 0, 1, 0))[:, :-1]], -1))
            for m in self.mlps:
                x = x + m(x)
            lp = F.log_softmax(self.lm_head(x)[:, -1], -1)  # <- culprit
            tok = torch.multinomial(lp.exp(), 1)
            logps.append(lp.gather(1, tok))
            ids = torch.cat([ids, tok], 1)
        return ids, torch.cat(logps, 1)


def train(steps=16, prompts=5, k=6, n_new=6, eps=0.2):
    torch.manual_seed(0)
    policy, engine = TrainLM(), InferenceLM()
    opt = torch.optim.Adam(policy.parameters(), lr=1.5e-3)
    for step in range(steps):
        engine.load_from(policy)  # <- culprit
        ids, old = engine.generate(torch.randint(0, 12, (prompts, 2)).repeat_interleave(k, 0), n_new)
        reward = (ids[:, 2:] % 4 == 1).float().mean(1)
        g = reward.view(prompts, k)
        adv = ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        for _ in range(2):
            lp = F.log_softmax(policy(ids[:, :-1])[:, -n_new:], -1).gather(2, ids[:, -n_new:, None]).squeeze(2)
            ratio = torch.exp(lp - old)  # <- culprit
            loss = -torch.min(ratio * adv, ratio.clamp(1 - eps, 1 + eps) * adv).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            opt.step()
        if step % 4 == 0:
            print(f"step {step} reward {reward.mean():.3f} loss {loss.item():+.4f}")


if __name__ == "__main__":
    train()

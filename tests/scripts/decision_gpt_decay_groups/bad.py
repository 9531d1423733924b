import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)

CFG = dict(n_embd=24, n_head=2, n_layer=1, context=6, obs=3, act=2, lr=2e-3, steps=25, batch=16)


class Attn(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.qkv, self.proj, self.heads = nn.Linear(d, 3 * d), nn.Linear(d, d), heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.shape[-1])
        att = att.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = Attn(d, heads)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class DecisionGPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["n_embd"]
        self.rtg, self.state, self.action = nn.Linear(1, d), nn.Linear(cfg["obs"], d), nn.Linear(cfg["act"], d)
        self.pos_emb = nn.Parameter(torch.zeros(1, 3 * cfg["context"], d))
        self.log_std = nn.Parameter(torch.full((cfg["act"],), -0.5))
        self.blocks = nn.Sequential(*[Block(d, cfg["n_head"]) for _ in range(cfg["n_layer"])])
        self.ln_f, self.head = nn.LayerNorm(d), nn.Linear(d, cfg["act"])

    def forward(self, rtg, s, a):
        b, t, _ = s.shape
        tok = torch.stack([self.rtg(rtg), self.state(s), self.action(a)], 2).reshape(b, 3 * t, -1)
        x = self.ln_f(self.blocks(tok + self.pos_emb[:, : 3 * t]))
        return torch.distributions.Normal(self.head(x[:, 1::3]), self.log_std.exp())

    def configure_optimizers(self, lr, wd=0.1):
        decay, no_decay = [], []
        for name, p in self.named_parameters():
            if name.endswith("bias") or ".ln" in name or name.startswith("ln"):
                no_decay.append(p)
            elif name.endswith("weight"):
                decay.append(p)
        groups = [{"params": decay, "weight_decay": wd}, {"params": no_decay, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))  # <- culprit


def sample_batch(cfg):
    s = torch.randn(cfg["batch"], cfg["context"], cfg["obs"]).cumsum(1) * 0.3
    quality = torch.rand(cfg["batch"], 1, 1)
    a = torch.tanh(s[..., : cfg["act"]]) * quality + 0.2 * torch.randn(cfg["batch"], cfg["context"], cfg["act"])
    rew = -(a - torch.tanh(s[..., : cfg["act"]])).pow(2).sum(-1, keepdim=True)
    rtg = rew.flip(1).cumsum(1).flip(1)
    return rtg, s, a


def train(cfg):
    torch.manual_seed(0)
    model = DecisionGPT(cfg)
    opt = model.configure_optimizers(cfg["lr"])
    for it in range(cfg["steps"]):
        rtg, s, a = sample_batch(cfg)
        loss = -model(rtg, s, a).log_prob(a).sum(-1).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if it % 8 == 0:
            print(f"iter {it} nll {loss.item():.4f}")


if __name__ == "__main__":
    train(CFG)

"""GRPO on a toy language model: generate under inference_mode, score again with gradient, KL to a reference."""
import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, BOS, EOS, PAD = 10, 0, 1, 2


@dataclass
class Config:
    steps: int = 10
    prompts: int = 3
    group_size: int = 6
    max_new: int = 6
    epochs: int = 2
    lr: float = 3e-3
    beta: float = 0.1
    clip: float = 0.2


class TinyGPT(nn.Module):
    def __init__(self, d=24, heads=2, length=12):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, d), nn.Embedding(length, d)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.head = nn.Linear(d, VOCAB, bias=False)
        self.heads = heads

    def forward(self, ids):
        b, t = ids.shape
        x = self.tok(ids) + self.pos(torch.arange(t))
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.ln1(x)).chunk(3, -1))
        att = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(att.transpose(1, 2).reshape(b, t, -1))
        return self.head(x + self.mlp(self.ln2(x)))


@torch.inference_mode()
def generate(model, prompts, max_new):
    ids, finished = prompts, torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(max_new):
        nxt = torch.multinomial(F.softmax(model(ids)[:, -1], -1), 1).squeeze(1)
        nxt = torch.where(finished, torch.full_like(nxt, PAD), nxt)
        finished |= nxt == EOS
        ids = torch.cat([ids, nxt[:, None]], 1)
    return ids


def token_logps(model, ids, prompt_len):
    logits = model(ids[:, :-1])[:, prompt_len - 1:]
    return logits.log_softmax(-1).gather(-1, ids[:, prompt_len:].unsqueeze(-1)).squeeze(-1)


def reward_fn(completions, mask):
    wanted = ((completions >= 6).float() * mask).sum(1)
    return wanted / mask.sum(1) + 0.1 * (completions == EOS).any(1).float()


def completion_mask(completions):
    is_eos = completions == EOS
    return ((is_eos.cumsum(1) - is_eos.long()) == 0).float()


def main(cfg=Config()):
    torch.manual_seed(0)
    policy = TinyGPT()
    reference = copy.deepcopy(policy).eval()
    for p in reference.parameters():
        p.requires_grad = False
    optimizer = torch.optim.AdamW(policy.parameters(), lr=cfg.lr, weight_decay=0.0)
    for step in range(cfg.steps):
        prompts = torch.cat([torch.full((cfg.prompts, 1), BOS), torch.randint(3, VOCAB, (cfg.prompts, 2))], 1)
        prompts = prompts.repeat_interleave(cfg.group_size, 0)
        ids = generate(policy, prompts, cfg.max_new).clone()
        completions = ids[:, 3:]
        mask = completion_mask(completions)
        rewards = reward_fn(completions, mask).view(cfg.prompts, cfg.group_size)
        adv = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        with torch.no_grad():
            old_logps = token_logps(policy, ids, 3)
            ref_logps = token_logps(reference, ids, 3)
        for _ in range(cfg.epochs):
            logps = token_logps(policy, ids, 3)
            ratio = torch.exp(logps - old_logps)
            surrogate = torch.min(ratio * adv, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * adv)
            delta = ref_logps - logps
            kl = delta.exp() - delta - 1
            per_token = -(surrogate - cfg.beta * kl)
            loss = ((per_token * mask).sum(1) / mask.sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        if step % 2 == 0:
            print(f"step {step} loss {loss.item():+.4f} reward {rewards.mean().item():.3f} "
                  f"kl {(kl * mask).sum().item() / mask.sum().item():.4f} norm {norm.item():.3f}")


if __name__ == "__main__":
    main()

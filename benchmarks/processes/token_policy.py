"""Group-relative policy optimisation of a tiny transformer: sample completions, score them, 100 updates."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, LENGTH, PROMPT = 64, 24, 4


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, width=64, layers=2, heads=4):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def log_probs(model, ids):
    logits = model(ids[:, :-1])[:, PROMPT - 1 :]
    return torch.gather(logits.log_softmax(-1), 2, ids[:, PROMPT:].unsqueeze(-1)).squeeze(-1)


@torch.no_grad()
def generate(model, ids):
    while ids.shape[1] < LENGTH:
        probabilities = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(probabilities, 1)], 1)
    return ids


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    policy, reference = Model(), Model()
    reference.load_state_dict(policy.state_dict())
    reference.requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4)
    for _ in range(args.updates):
        prompts = torch.randint(0, VOCABULARY, (4, PROMPT)).repeat_interleave(4, 0)
        ids = generate(policy, prompts)
        rewards = (ids[:, PROMPT:] < VOCABULARY // 2).float().mean(1).view(4, 4)
        advantages = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        with torch.no_grad():
            reference_logps = log_probs(reference, ids)
        logps = log_probs(policy, ids)
        ratio = torch.exp(logps - logps.detach())
        kl = torch.exp(reference_logps - logps) - (reference_logps - logps) - 1
        loss = -(ratio * advantages - 0.04 * kl).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    print("weights", sum(p.double().sum().item() for p in policy.parameters()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=100)
    main(parser.parse_args())

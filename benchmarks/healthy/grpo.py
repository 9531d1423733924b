"""GRPO on a two-block transformer: groups of completions, gradient accumulation, a frozen reference model."""

import copy
import hashlib

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, WIDTH, LENGTH, GROUP = 8, 24, 6, 8
EPOCHS, MICRO_BATCHES, CLIP, BETA = 2, 4, 0.2, 0.02


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm_1(x)).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / WIDTH**0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        x = x + self.out(F.softmax(scores.masked_fill(future, -1e9), dim=-1) @ v)
        return x + self.mlp(self.norm_2(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCAB, WIDTH)
        self.place = nn.Parameter(0.02 * torch.randn(LENGTH + 1, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        x = self.token(ids) + self.place[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def token_log_probs(model, ids):
    """The log-probability of every token after the first, (batch, tokens)."""
    log_probs = F.log_softmax(model(ids[:, :-1]), dim=-1)
    return log_probs.gather(2, ids[:, 1:, None]).squeeze(2)


@torch.no_grad()
def generate(model, prompts):
    ids = prompts[:, None]
    for _ in range(LENGTH):
        probs = F.softmax(model(ids)[:, -1], dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def reward_of(ids):
    """The share of tokens that follow their predecessor by one."""
    return (ids[:, 1:] == (ids[:, :-1] + 1) % VOCAB).float().mean(dim=1)


def grpo_loss(policy, ids, old_logp, ref_logp, advantage):
    logp = token_log_probs(policy, ids)
    ratio = torch.exp(logp - old_logp)
    surrogate = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
    gap = ref_logp - logp
    kl = gap.exp() - gap - 1
    return -(surrogate - BETA * kl).mean()


def digest(*modules):
    weights = [tensor.tolist() for module in modules for tensor in module.state_dict().values()]
    return hashlib.sha256(repr(weights).encode()).hexdigest()


def main(iterations=15):
    torch.set_num_threads(1)
    torch.manual_seed(10)
    policy = Transformer()
    reference = copy.deepcopy(policy)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    rewards = []
    for _ in range(iterations):
        ids = generate(policy, torch.randint(0, VOCAB, (4,)).repeat_interleave(GROUP))
        reward = reward_of(ids)
        grouped = reward.view(-1, GROUP)
        advantage = (grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)
        with torch.no_grad():
            old_logp = token_log_probs(policy, ids)
            ref_logp = token_log_probs(reference, ids)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(ids)).chunk(MICRO_BATCHES):
                adv = advantage.view(-1, 1)[rows]
                loss = grpo_loss(policy, ids[rows], old_logp[rows], ref_logp[rows], adv) / MICRO_BATCHES
                loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.2)
            optimizer.step()
            optimizer.zero_grad()
        rewards.append(reward.mean().item())
    print(f"reward {sum(rewards[:3]) / 3:.3f} -> {sum(rewards[-3:]) / 3:.3f}")
    print("weights", digest(policy))


if __name__ == "__main__":
    main()

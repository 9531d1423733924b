import torch
import torch.nn as nn

torch.set_num_threads(1)

VOCAB, PROMPT, LENGTH, GROUP = 12, 3, 5, 6


class TokenPolicy(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


@torch.no_grad()
def generate(policy, prompts):
    ids = prompts
    for _ in range(LENGTH):
        probs = torch.softmax(policy(ids)[:, -1], dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def sequence_logp(policy, ids):
    """Log-probability of every generated token, shape (batch, LENGTH)."""
    logits = policy(ids[:, :-1])[:, PROMPT - 1:]
    logp = torch.log_softmax(logits, dim=-1)
    return logp.gather(-1, ids[:, PROMPT:, None]).squeeze(-1)


def reward_fn(ids):
    """Completions should repeat the tokens of their prompt."""
    hits = (ids[:, PROMPT:, None] == ids[:, None, :PROMPT]).any(-1)
    return hits.float().mean(1)


class GroupTrainer:
    def __init__(self, policy, lr=1e-2, eps=0.2):
        self.policy = policy
        self.optim = torch.optim.AdamW(policy.parameters(), lr=lr, weight_decay=0.0)
        self.eps = eps

    def rollout(self, n_prompts):
        prompts = torch.randint(0, VOCAB, (n_prompts, PROMPT)).repeat_interleave(GROUP, 0)
        ids = generate(self.policy, prompts)
        r = reward_fn(ids).view(n_prompts, GROUP)
        adv = (r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)
        with torch.no_grad():
            old = sequence_logp(self.policy, ids)
        return ids, old, adv.flatten(), r.mean().item()

    def loss(self, ids, old, adv, chunk=12):
        new = []
        for part in ids.split(chunk):
            logp = sequence_logp(self.policy, part)
            new.append(logp)
        new = torch.cat(new)
        ratio = torch.exp(new - old)
        a = adv[:, None]
        per_token = torch.min(ratio * a, ratio.clamp(1 - self.eps, 1 + self.eps) * a)
        return -per_token.mean()

    def step(self, iteration, inner=2):
        ids, old, adv, reward = self.rollout(n_prompts=8)
        for _ in range(inner):
            loss = self.loss(ids, old, adv)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
        if iteration % 5 == 0:
            print(f"[{iteration:02d}] reward={reward:.3f} loss={loss.item():+.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = GroupTrainer(TokenPolicy())
    print("parameters:", sum(p.numel() for p in trainer.policy.parameters()))
    for iteration in range(25):
        trainer.step(iteration)

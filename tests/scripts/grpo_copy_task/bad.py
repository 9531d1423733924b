import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class Cfg:
    vocab, prompt_len, new = 8, 4, 4
    prompts, group = 12, 8
    dim, lr, iters, epochs = 32, 1.2e-3, 45, 2


class Policy(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c.vocab, c.dim)
        self.place = nn.Parameter(0.1 * torch.randn(c.prompt_len + c.new, c.dim))
        layer = nn.TransformerEncoderLayer(c.dim, 2, 2 * c.dim, dropout=0.0, batch_first=True, norm_first=True)
        self.core = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(c.dim, c.vocab)

    def forward(self, ids):
        t = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(t)
        return self.head(self.core(self.embed(ids) + self.place[:t], mask=causal, is_causal=True))


@torch.no_grad()
def sample(policy, c):
    ids = torch.randint(0, c.vocab, (c.prompts, c.prompt_len)).repeat_interleave(c.group, dim=0)
    for _ in range(c.new):
        probs = F.softmax(policy(ids)[:, -1], dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


def copy_reward(ids, c):
    """One point per answer token that occurs in the prompt, one more if it is at its place."""
    prompt, answer = ids[:, :c.prompt_len], ids[:, c.prompt_len:]
    inside = (answer.unsqueeze(2) == prompt.unsqueeze(1)).any(2).float()
    return (inside + (answer == prompt).float()).mean(1, keepdim=True)


def group_advantage(rewards, c):
    grouped = rewards
    centred = grouped - grouped.mean(dim=-1, keepdim=True)  # <- culprit
    return centred.reshape(-1)


def completion_logp(policy, ids, c):
    logits = policy(ids[:, :-1])[:, c.prompt_len - 1:]
    return -F.cross_entropy(logits.transpose(1, 2), ids[:, c.prompt_len:], reduction="none")


def main(c=Cfg):
    torch.manual_seed(44)
    policy = Policy(c)
    opt = torch.optim.AdamW(policy.parameters(), lr=c.lr, weight_decay=0.0)
    for it in range(1, c.iters + 1):
        ids = sample(policy, c)
        rewards = copy_reward(ids, c)
        adv = group_advantage(rewards, c)
        with torch.no_grad():
            old = completion_logp(policy, ids, c)
        for _ in range(c.epochs):
            ratio = (completion_logp(policy, ids, c) - old).exp()
            a = adv.unsqueeze(1)
            gain = torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a)  # <- culprit
            loss = -gain.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        if it % 9 == 0:
            print(f"iter {it} reward {rewards.mean():.3f} reward spread {rewards.std():.3f} loss {loss.item():+.5f}")


if __name__ == "__main__":
    main()

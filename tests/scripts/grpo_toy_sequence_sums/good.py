import copy
from dataclasses import dataclass

import torch
import torch.nn as nn

torch.set_num_threads(1)


@dataclass
class GRPOArgs:
    vocab: int = 12
    eos: int = 0
    group: int = 8
    max_new: int = 7
    iters: int = 15
    epochs: int = 2
    beta: float = 0.05
    clip: float = 0.2
    lr: float = 5e-3


class TinyLM(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.lm_head(h)


def token_logps(model, ids):
    logp = model(ids[:, :-1]).log_softmax(-1)
    return logp.gather(-1, ids[:, 1:, None]).squeeze(-1)


def sequence_logps(model, ids, mask):
    per_token = token_logps(model, ids)
    return torch.stack([lp[m.bool()].sum() for lp, m in zip(per_token, mask)]), per_token


@torch.no_grad()
def generate(model, prompt, args):
    ids = prompt.repeat(args.group, 1)
    for _ in range(args.max_new):
        nxt = torch.multinomial(model(ids)[:, -1].softmax(-1), 1)
        ids = torch.cat([ids, nxt], 1)
    new = ids[:, prompt.shape[1]:]
    alive = (new == args.eos).long().cumsum(1) <= 1
    mask = torch.zeros(ids.shape[0], ids.shape[1] - 1)
    mask[:, prompt.shape[1] - 1:] = alive.float()
    return ids, mask


def reward_fn(ids, mask):
    return ((ids[:, 1:] % 3 == 1).float() * mask).sum(1) / mask.sum(1)


def main():
    args = GRPOArgs()
    torch.manual_seed(3)
    policy = TinyLM(args.vocab)
    ref = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    for it in range(args.iters):
        prompt = torch.randint(1, args.vocab, (1, 2))
        ids, mask = generate(policy, prompt, args)
        rewards = reward_fn(ids, mask)
        adv = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        with torch.no_grad():
            old, _ = sequence_logps(policy, ids, mask)
            ref_tok = token_logps(ref, ids)
        for _ in range(args.epochs):
            seq, tok = sequence_logps(policy, ids, mask)
            ratio = (seq - old).exp()
            surr = torch.min(ratio * adv, ratio.clamp(1 - args.clip, 1 + args.clip) * adv)
            log_r = ref_tok - tok
            kl = ((log_r.exp() - log_r - 1) * mask).sum() / mask.sum()
            loss = -surr.mean() + args.beta * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
        if it % 5 == 0:
            print(f"iter {it} reward {rewards.mean():.3f} kl {kl.item():.5f}")


if __name__ == "__main__":
    main()

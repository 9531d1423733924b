import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)

VOCAB, EOS, MAXLEN = 9, 0, 6


class TinyLM(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.lm_head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.lm_head(h)


def sequence_logps(model, prompt, completion):
    ids = torch.cat([prompt, completion], dim=1)
    logits = model(ids[:, :-1])[:, prompt.shape[1] - 1:]
    per_token = logits.log_softmax(-1).gather(2, completion.unsqueeze(2)).squeeze(2)
    after_eos = (completion == EOS).cumsum(1) - (completion == EOS).long()
    return (per_token * (after_eos == 0)).sum(1)


def preference_data(n):
    """Completions with even tokens are preferred over completions with odd ones."""
    prompt = torch.randint(1, VOCAB, (n, 2))
    even = 2 * torch.randint(1, 5, (n, MAXLEN))
    odd = 2 * torch.randint(0, 4, (n, MAXLEN)) + 1
    length = torch.randint(3, MAXLEN, (n, 1))
    stop = torch.arange(MAXLEN) >= length
    return prompt, even.masked_fill(stop, EOS), odd.masked_fill(stop, EOS)


def dpo_loss(policy, reference, batch, beta=0.2):
    prompt, chosen, rejected = batch
    pi_w = sequence_logps(policy, prompt, chosen)
    pi_l = sequence_logps(policy, prompt, rejected)
    with torch.no_grad():
        ref_w = sequence_logps(reference, prompt, chosen)
        ref_l = sequence_logps(reference, prompt, rejected)
    margin = beta * ((pi_w - ref_w) - (pi_l - ref_l))
    return -F.logsigmoid(margin), (margin > 0).float().mean()


def warm_start(model, steps=40):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        prompt, chosen, rejected = preference_data(64)
        ids = torch.cat([prompt, torch.where(torch.rand(64, 1) < 0.5, chosen, rejected)], dim=1)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def main():
    torch.manual_seed(17)
    policy = TinyLM()
    print(f"warm start loss {warm_start(policy):.3f}")
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    opt = torch.optim.AdamW(policy.parameters(), lr=2e-3, weight_decay=0.0)
    for step in range(60):
        losses, accuracy = dpo_loss(policy, reference, preference_data(48))
        opt.zero_grad()
        losses.backward()  # <- culprit
        nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
        opt.step()
        if step % 15 == 0:
            print(f"step {step:3d} loss {losses.mean().item():.4f} accuracy {accuracy.item():.2f}")


if __name__ == "__main__":
    main()

import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint_sequential

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        n = torch.arange(1, x.shape[1] + 1, device=x.device).view(1, -1, 1)
        return x + self.down(F.gelu(self.up(self.norm(x.cumsum(1) / n))))


class PretrainedLM(nn.Module):
    def __init__(self, vocab=14, d=20, depth=4, grad_ckpt=True):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.wpe = nn.Embedding(32, d)
        self.blocks = nn.Sequential(*[FeedForward(d) for _ in range(depth)])
        self.norm_f = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)
        self.grad_ckpt = grad_ckpt

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        if self.grad_ckpt and self.training:
            x = checkpoint_sequential(self.blocks, 2, x, use_reentrant=True)  # <- culprit
        else:
            x = self.blocks(x)
        return self.head(self.norm_f(x))


@torch.no_grad()
def generate(model, prompts, new_tokens):
    model.eval()
    ids = prompts
    for _ in range(new_tokens):
        nxt = torch.multinomial(F.softmax(model(ids)[:, -1], -1), 1)
        ids = torch.cat([ids, nxt], 1)
    model.train()
    return ids


def token_logps(model, ids, prompt_len):
    logits = model(ids[:, :-1])[:, prompt_len - 1 :]
    return F.log_softmax(logits, -1).gather(-1, ids[:, prompt_len:, None]).squeeze(-1)


def score(ids, prompt):
    # reward for repeating the prompt's last token
    return (ids[:, prompt.shape[1] :] == prompt[:, -1:]).float().mean(1)


if __name__ == "__main__":
    torch.manual_seed(7)
    lm = PretrainedLM()
    lm.wte.requires_grad_(False)
    lm.wpe.requires_grad_(False)
    tunable = [p for p in lm.parameters() if p.requires_grad]
    print(f"tuning {sum(p.numel() for p in tunable)} of {sum(p.numel() for p in lm.parameters())}")
    optim = torch.optim.AdamW(tunable, lr=3e-3, weight_decay=0.0)
    for it in range(12):
        prompts = torch.randint(0, 14, (24, 3))
        seqs = generate(lm, prompts, 5)
        rew = score(seqs, prompts)
        adv = (rew - rew.mean()) / (rew.std() + 1e-6)
        with torch.no_grad():
            old = token_logps(lm, seqs, 3)
        for _ in range(2):
            ratio = (token_logps(lm, seqs, 3) - old).exp()
            a = adv[:, None]
            loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
            optim.zero_grad()
            loss.backward()
            optim.step()
        if it % 4 == 0:
            print(f"it {it} reward {rew.mean():.3f} loss {loss.item():+.4f}")

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
VOCAB, BOS, LENGTH = 12, 0, 6


class Mixer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.gates = nn.Linear(d, 2 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        v, g = self.gates(self.norm(x)).chunk(2, -1)
        steps = torch.arange(1, x.size(1) + 1, device=x.device).view(1, -1, 1)
        past = v.float().cumsum(1) / steps
        return x + self.out(past.to(x.dtype) * F.silu(g))


class CausalLM(nn.Module):
    def __init__(self, d=32, depth=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LENGTH + 2, d)
        self.layers = nn.ModuleList(Mixer(d) for _ in range(depth))
        self.norm = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


@torch.no_grad()
def sample(model, prompts):
    ids = torch.stack([torch.full_like(prompts, BOS), prompts], 1)
    for _ in range(LENGTH):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(ids)[:, -1]
        ids = torch.cat([ids, torch.multinomial(logits.float().softmax(-1), 1)], 1)
    return ids


def reward_fn(ids):
    prompt, answer = ids[:, 1:2], ids[:, 2:]
    return (answer == (prompt + 3) % VOCAB).float().mean(1) + 0.1 * (answer % 2 == 0).float().mean(1)


def rloo(rewards, k):
    r = rewards.view(-1, k)
    baseline = (r.sum(1, keepdim=True) - r) / (k - 1)
    return (r - baseline).view(-1)


class Trainer:
    def __init__(self, model, lr=0.5, max_norm=0.5, k=8):
        self.model, self.k, self.max_norm = model, k, max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)

    def loss(self, ids, adv):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(ids[:, :-1])
        logp = F.log_softmax(logits.float(), -1).gather(2, ids[:, 1:, None]).squeeze(2)[:, 1:]
        return -(adv * logp.sum(1)).mean()

    def step(self, ids):
        rewards = reward_fn(ids)
        loss = self.loss(ids, rloo(rewards, self.k))
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # <- culprit
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item(), rewards.mean().item(), float(norm)


def main():
    torch.manual_seed(11)
    trainer = Trainer(CausalLM())
    for it in range(30):
        prompts = torch.randint(1, VOCAB, (6,)).repeat_interleave(trainer.k)
        loss, reward, norm = trainer.step(sample(trainer.model, prompts))
        if it % 6 == 0:
            print(f"iter {it} loss {loss:+.4f} reward {reward:.3f} grad norm {norm:.3g}")


if __name__ == "__main__":
    main()

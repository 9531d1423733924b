import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
STATES, ACTIONS, T, D = 9, 3, 6, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn = nn.MultiheadAttention(D, 2, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

    def forward(self, x, mask):
        h = self.n1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class SequencePolicy(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.state, self.time = nn.Embedding(STATES, D), nn.Embedding(T, D)
        self.goal = nn.Linear(1, D)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.head = nn.Linear(D, ACTIONS)
        self.register_buffer("mask", torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1))

    def forward(self, states, rtg):
        x = self.state(states) + self.time(torch.arange(T)) + self.goal(rtg)
        for block in self.blocks:
            x = checkpoint(block, x, self.mask, use_reentrant=True)
        return self.head(x)


def make_episodes(n, gen):
    """Random walks on a line of nine cells; the return counts moves towards the middle."""
    s = torch.randint(0, STATES, (n,), generator=gen)
    states, actions, rewards = [], [], []
    for _ in range(T):
        a = torch.randint(0, ACTIONS, (n,), generator=gen)
        nxt = (s + a - 1).clamp(0, STATES - 1)
        states.append(s), actions.append(a)
        rewards.append(((nxt - 4).abs() < (s - 4).abs()).float() + (nxt == 4).float())
        s = nxt
    rewards = torch.stack(rewards, 1)
    rtg = rewards.flip(1).cumsum(1).flip(1)
    return torch.stack(states, 1), torch.stack(actions, 1), rtg[..., None] / T


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    states, actions, rtg = make_episodes(2000, gen)
    keep = rtg[:, 0, 0].topk(600).indices
    states, actions, rtg = states[keep], actions[keep], rtg[keep]
    model = SequencePolicy()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(120):
        idx = torch.randint(0, len(states), (64,), generator=gen)
        logits = model(states[idx], rtg[idx])
        loss = F.cross_entropy(logits.flatten(0, 1), actions[idx].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            acc = (logits.argmax(-1) == actions[idx]).float().mean().item()
            print(f"step {step:3d} loss {loss.item():.3f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()

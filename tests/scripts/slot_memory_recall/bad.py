import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
N_SYMBOLS, SLOTS, WIDTH = 4, 3, 16


class SlotMemory(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(N_SYMBOLS + 1, WIDTH)
        self.value = nn.Linear(N_SYMBOLS + 1, WIDTH)

    def empty(self, batch):
        return torch.zeros(batch, SLOTS, WIDTH)

    def read(self, memory, x):
        score = torch.einsum("bd,bsd->bs", self.key(x), memory) / WIDTH ** 0.5
        return torch.einsum("bs,bsd->bd", score.softmax(-1), memory)

    def write(self, memory, x, slot):
        memory[:, slot] = torch.tanh(self.value(x))  # <- culprit
        return memory


class MemoryAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = SlotMemory()
        self.pi = nn.Sequential(nn.Linear(WIDTH + N_SYMBOLS + 1, 48), nn.Tanh(), nn.Linear(48, N_SYMBOLS))

    def forward(self, frames):
        memory, dists = self.memory.empty(frames.shape[1]), []
        for t, x in enumerate(frames):
            recalled = self.memory.read(memory, x)
            dists.append(Categorical(logits=self.pi(torch.cat([recalled, x], dim=-1))))
            memory = self.memory.write(memory, x, t % SLOTS)
        return dists


def episode_batch(n):
    """Show a symbol, then two blank frames, and ask for it at every step after the first."""
    symbol = torch.randint(0, N_SYMBOLS, (n,))
    first = torch.cat([F.one_hot(symbol, N_SYMBOLS).float(), torch.zeros(n, 1)], dim=1)
    blank = torch.zeros(n, N_SYMBOLS + 1)
    blank[:, -1] = 1.0
    return torch.stack([first, blank, blank]), symbol


def train_step(agent, optimizer, n=96):
    frames, symbol = episode_batch(n)
    dists = agent(frames)
    log_probs, rewards = [], []
    for dist in dists[1:]:
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        rewards.append((a == symbol).float())
    log_probs, rewards = torch.stack(log_probs), torch.stack(rewards)
    adv = rewards - rewards.mean(dim=1, keepdim=True)
    loss = -(log_probs * adv).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return rewards.mean().item()


if __name__ == "__main__":
    torch.manual_seed(6)
    agent = MemoryAgent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=4e-3)
    for step in range(50):
        success = train_step(agent, optimizer)
        if step % 10 == 0:
            print(f"step {step:3d} success {success:.2f}")

from functools import cached_property

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


class Config(dict):
    __getattr__ = dict.__getitem__


class GRUPolicy(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.vocab = vocab
        self.embed = nn.Embedding(vocab, d)
        self.core = nn.GRU(d, d, batch_first=True)
        self.unembed = nn.Linear(d, vocab)

    def forward(self, ids):
        return self.unembed(self.core(self.embed(ids))[0])


class GroupTrainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = GRUPolicy(cfg.vocab, cfg.width)
        self.step = 0
        self._buffered = None

    @cached_property
    def optimizer(self):
        return torch.optim.Adam(self.model.parameters(), lr=self.cfg.lr)

    def _logps(self, ids):
        logp = F.log_softmax(self.model(ids[:, :-1]), dim=-1)
        return torch.gather(logp, 2, ids[:, 1:, None]).squeeze(-1)

    @torch.no_grad()
    def _generate(self):
        cfg = self.cfg
        ids = torch.randint(0, cfg.vocab, (cfg.prompts, 1)).repeat_interleave(cfg.group, 0)
        for _ in range(cfg.length):
            probs = self.model(ids)[:, -1].softmax(-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
        rewards = self._reward(ids)
        grouped = rewards.view(-1, cfg.group)
        advantages = grouped - grouped.mean(1, keepdim=True)
        advantages = advantages / (grouped.std(1, keepdim=True) + 1e-4)
        return {
            "ids": ids,
            "advantages": advantages.view(-1),
            "old_per_token_logps": self._logps(ids),
            "rewards": rewards,
        }

    @staticmethod
    def _reward(ids):
        steps = (ids[:, 1:] - ids[:, :-1]) % 11
        return (steps == 2).float().mean(1) + 0.2 * (steps == 1).float().mean(1)

    def _inputs(self):
        if self.step % self.cfg.num_iterations == 0:
            self._buffered = self._generate()
        return self._buffered

    def compute_loss(self, inputs):
        logps = self._logps(inputs["ids"])
        old = inputs.get("old_per_token_logps")
        if old is None:
            old = logps.detach()
        ratio = (logps - old).exp()
        adv = inputs["advantages"].unsqueeze(1)
        low, high = 1 - self.cfg.clip, 1 + self.cfg.clip
        loss = -torch.min(ratio * adv, ratio.clamp(low, high) * adv).mean()
        clipped = ((ratio < low) | (ratio > high)).float().mean().item()
        return loss, clipped

    def train(self):
        history = []
        while self.step < self.cfg.max_steps:
            inputs = self._inputs()
            loss, clipped = self.compute_loss(inputs)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.step += 1
            history.append(clipped)
            if self.step % 12 == 0:
                reward = inputs["rewards"].mean().item()
                print(f"step {self.step} reward {reward:.3f} clip fraction {sum(history[-12:]) / 12:.3f}")


if __name__ == "__main__":
    torch.manual_seed(5)
    GroupTrainer(Config(vocab=11, width=28, lr=1e-2, prompts=6, group=8, length=6, num_iterations=3, max_steps=48, clip=0.1)).train()

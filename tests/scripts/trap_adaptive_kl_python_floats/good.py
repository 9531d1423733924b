import copy
import math

import torch
import torch.nn as nn

torch.set_num_threads(1)


class AdaptiveKL:
    def __init__(self, init=0.1, target=0.05):
        self.value, self.target = init, target

    def update(self, kl):
        err = max(min(float(kl) / self.target - 1, 0.2), -0.2)
        self.value = math.exp(math.log(self.value) + 0.1 * err)


class TokenPolicy(nn.Module):
    def __init__(self, vocab=10, dim=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.tok(ids).cumsum(1) / torch.arange(1, ids.shape[1] + 1).view(1, -1, 1)
        return self.out(torch.tanh(self.mix(h))).log_softmax(-1)


@torch.inference_mode()
def generate(model, n, length, vocab=10):
    ids = torch.randint(0, vocab, (n, 1))
    for _ in range(length):
        ids = torch.cat([ids, torch.multinomial(model(ids)[:, -1].exp(), 1)], 1)
    return ids


def gathered(model, ids):
    return model(ids[:, :-1]).gather(-1, ids[:, 1:, None]).squeeze(-1)


if __name__ == "__main__":
    torch.manual_seed(0)
    policy = TokenPolicy()
    ref = copy.deepcopy(policy)
    for p in ref.parameters():
        p.requires_grad = False
    ctl = AdaptiveKL()
    opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
    history = {"loss": [], "kl": [], "reward": []}
    baseline = 0.0
    for it in range(25):
        ids = generate(policy, 16, 6).clone()
        rewards = [float((row[1:] == row[:-1]).float().mean()) for row in ids]
        logp = gathered(policy, ids)
        ref_logp = gathered(ref, ids)
        seq = [lp.sum() for lp in logp]
        pg = -sum(s * (r - baseline) for s, r in zip(seq, rewards)) / len(seq)
        kl = (ref_logp - logp).exp() - (ref_logp - logp) - 1
        loss = pg + ctl.value * kl.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ctl.update(kl.mean().item())
        baseline = 0.8 * baseline + 0.2 * sum(rewards) / len(rewards)
        history["loss"].append(torch.tensor(loss.item()))
        history["kl"].append(kl.detach().mean().numpy())
        history["reward"].append(torch.as_tensor(rewards).mean().tolist())
        if it % 8 == 0:
            print(it, f"beta {ctl.value:.4f} kl {float(history['kl'][-1]):.4f} reward {history['reward'][-1]:.3f}")

"""World model: an MDN-RNN that predicts the next latent, the reward and the terminal flag."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as f
from torch.distributions.normal import Normal

torch.set_num_threads(1)
LSIZE, ASIZE, RSIZE, GAUSSIANS, SEQ, BSIZE = 4, 2, 48, 5, 12, 16


def gmm_loss(batch, mus, sigmas, logpi, reduce=True):
    batch = batch.unsqueeze(-2)
    normal_dist = Normal(mus, sigmas)
    g_log_probs = normal_dist.log_prob(batch)
    g_log_probs = logpi + torch.sum(g_log_probs, dim=-1)
    max_log_probs = torch.max(g_log_probs, dim=-1, keepdim=True)[0]
    g_log_probs = g_log_probs - max_log_probs
    probs = torch.sum(torch.exp(g_log_probs), dim=-1)
    log_prob = max_log_probs.squeeze(-1) + torch.log(probs)
    return -torch.mean(log_prob) if reduce else -log_prob


class MDRNN(nn.Module):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__()
        self.latents, self.gaussians = latents, gaussians
        self.rnn = nn.LSTM(latents + actions, hiddens)
        self.gmm_linear = nn.Linear(hiddens, (2 * latents + 1) * gaussians + 2)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        outs, _ = self.rnn(torch.cat([actions, latents], dim=-1))
        gmm_outs = self.gmm_linear(outs)
        stride = self.gaussians * self.latents
        mus = gmm_outs[:, :, :stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = gmm_outs[:, :, stride:2 * stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = torch.exp(sigmas)
        pi = gmm_outs[:, :, 2 * stride:2 * stride + self.gaussians].view(seq_len, bs, self.gaussians)
        logpi = f.log_softmax(pi, dim=-1)
        return mus, sigmas, logpi, gmm_outs[:, :, -2], gmm_outs[:, :, -1]


def rollouts(rng):
    """Latents of a bistable process: the action decides how likely it is to switch wells."""
    z = rng.normal(0, 0.1, (BSIZE, LSIZE)) + rng.choice([-1, 1], (BSIZE, 1))
    lat, act, rew, term = [z], [], [], []
    for _ in range(SEQ):
        a = rng.uniform(-1, 1, (BSIZE, ASIZE))
        jump = rng.random((BSIZE, 1)) < 0.1 + 0.3 * (a[:, :1] > 0)
        well = np.where(jump, -np.sign(z[:, :1]), np.sign(z[:, :1]))
        z = 0.5 * z + 0.5 * well + 0.1 * rng.normal(size=(BSIZE, LSIZE)) + 0.05 * a[:, 1:]
        lat.append(z), act.append(a), rew.append(z.mean(1)), term.append((np.abs(z).max(1) > 1.4).astype(float))
    return [torch.tensor(np.stack(x), dtype=torch.float32) for x in (lat, act, rew, term)]


def get_loss(mdrnn, lat, act, rew, term):
    mus, sigmas, logpi, rs, ds = mdrnn(act, lat[:-1])
    gmm = gmm_loss(lat[1:], mus, sigmas, logpi)
    bce = f.binary_cross_entropy_with_logits(ds, term)
    mse = f.mse_loss(rs, rew)
    return {"gmm": gmm, "bce": bce, "mse": mse, "loss": (gmm + bce + mse) / (LSIZE + 2)}


def main():
    torch.manual_seed(123)
    rng = np.random.default_rng(123)
    mdrnn = MDRNN(LSIZE, ASIZE, RSIZE, GAUSSIANS)
    optimizer = torch.optim.RMSprop(mdrnn.parameters(), lr=2e-3, alpha=0.9)
    for step in range(150):
        losses = get_loss(mdrnn, *rollouts(rng))
        optimizer.zero_grad()
        losses["loss"].backward()
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step} " + " ".join(f"{k} {v.item():.4f}" for k, v in losses.items()))


if __name__ == "__main__":
    main()

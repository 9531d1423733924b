import torch
from torch import nn

torch.set_num_threads(1)


class Pendula:
    """Random-action sequences of a damped pendulum, observed through a linear sensor."""

    def __init__(self, seed=6):
        self.g = torch.Generator().manual_seed(seed)
        self.sensor = torch.randn(3, 6, generator=self.g)

    def sequences(self, n, length):
        theta = torch.rand(n, generator=self.g) * 6 - 3
        vel = torch.zeros(n)
        obs, act, rew = [], [], []
        for _ in range(length):
            a = torch.rand(n, generator=self.g) * 2 - 1
            vel = 0.95 * vel + 0.15 * torch.sin(theta) + 0.2 * a
            theta = theta + 0.3 * vel
            latent = torch.stack([theta.cos(), theta.sin(), vel], 1)
            obs.append(latent @ self.sensor)
            act.append(a[:, None])
            rew.append(theta.cos())
        return torch.stack(obs, 1), torch.stack(act, 1), torch.stack(rew, 1)


class WorldModel(nn.Module):
    def __init__(self, obs=6, hidden=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.core = nn.GRUCell(hidden + 1, hidden)
        self.decode, self.reward = nn.Linear(hidden, obs), nn.Linear(hidden, 1)

    def forward(self, obs, act):
        h = obs.new_zeros(len(obs), 32)
        preds, rewards = [], []
        for t in range(obs.size(1) - 1):
            h = self.core(torch.cat([self.encoder(obs[:, t]), act[:, t + 1]], 1), h)
            preds.append(self.decode(h))
            rewards.append(self.reward(h).squeeze(1))
        return torch.stack(preds, 1), torch.stack(rewards, 1)


class Accumulator:
    """Splits a batch into chunks and leaves the averaged gradient in .grad."""

    def __init__(self, params, chunks):
        self.params, self.chunks = list(params), chunks

    def run(self, loss_fn, tensors):
        for p in self.params:
            p.grad = None
        total = 0.0
        for part in zip(*(t.chunk(self.chunks) for t in tensors)):
            loss = loss_fn(*part) / self.chunks
            loss.backward()
            total += loss.item()
        return total


def model_loss(model):
    def loss_fn(obs, act, rew):
        pred, r = model(obs, act)
        return nn.functional.mse_loss(pred, obs[:, 1:]) + nn.functional.mse_loss(r, rew[:, 1:])
    return loss_fn


def main(updates=60, chunks=4):
    torch.manual_seed(6)
    world, model = Pendula(), WorldModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    accumulator = Accumulator(model.parameters(), chunks)
    loss_fn = model_loss(model)
    for update in range(updates):
        loss = accumulator.run(loss_fn, world.sequences(32, 10))
        optimizer.step()
        if update % 12 == 0:
            print(f"update {update} loss {loss:.4f}")


if __name__ == "__main__":
    main()

"""Actor-critic from first principles: the update rule is written out."""
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(4)

N_OBS, N_ACT, HIDDEN = 6, 3, 32


def init(*shape):
    return (torch.randn(*shape) / shape[0] ** 0.5).requires_grad_()


params = {
    "w1": init(N_OBS, HIDDEN), "b1": torch.zeros(HIDDEN, requires_grad=True),
    "wp": init(HIDDEN, N_ACT), "bp": torch.zeros(N_ACT, requires_grad=True),
    "wv": init(HIDDEN, 1), "bv": torch.zeros(1, requires_grad=True),
}
momentum = {k: torch.zeros_like(v) for k, v in params.items()}


def model(x, p):
    h = torch.tanh(x @ p["w1"] + p["b1"])
    return h @ p["wp"] + p["bp"], (h @ p["wv"] + p["bv"]).squeeze(-1)


def sgd(p, lr, mu=0.9):
    with torch.no_grad():
        for name, w in p.items():
            momentum[name].mul_(mu).add_(w.grad)
            w -= lr * momentum[name]
            w.grad = None


class Reader:
    """The correct button is shown by the strongest of three pairs of lamps."""

    def draw(self, n):
        self.x = torch.randn(n, N_OBS)
        return self.x

    def reward(self, a):
        strength = self.x.view(-1, N_ACT, 2).sum(-1)
        return (strength.argmax(1) == a).float()


env = Reader()
for update in range(300):
    obs = env.draw(96)
    logits, value = model(obs, params)
    log_pi = F.log_softmax(logits, dim=-1)
    action = torch.multinomial(log_pi.detach().exp(), 1).squeeze(1)
    reward = env.reward(action)
    advantage = (reward - value).detach()
    chosen = log_pi.gather(1, action[:, None]).squeeze(1)
    actor = -(advantage * chosen).mean()
    critic = 0.5 * (reward - value).pow(2).mean()
    entropy = -(log_pi.exp() * log_pi).sum(-1).mean()
    (actor + critic - 0.02 * entropy).backward()
    sgd(params, lr=0.05)
    if update % 60 == 0:
        print(f"update {update:3d} reward {reward.mean().item():.3f} entropy {entropy.item():.3f}")

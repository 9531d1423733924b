import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


def augment(x):
    return x * (torch.rand_like(x) > 0.1).float() + 0.05 * torch.randn_like(x)


class Ring:
    def __init__(self, n):
        self.n, self.p = n, torch.randint(0, 12, (n,))
        self.code = torch.randn(12, 16)

    def obs(self):
        return self.code[self.p]

    def step(self, a):
        self.p = (self.p + 2 * a - 1) % 12
        return self.obs(), (self.p == 6).float()


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 24))
        self.predictor = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 24))
        self.q = nn.Sequential(nn.Tanh(), nn.Linear(24, 2))


def regression(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def main():
    torch.manual_seed(71)
    env, student, mem = Ring(16), Student(), []
    teacher = copy.deepcopy(student.encoder)
    q_slow = copy.deepcopy(nn.Sequential(student.encoder, student.q)).requires_grad_(False)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    o = env.obs()
    for t in range(200):
        with torch.no_grad():
            a = student.q(student.encoder(o)).argmax(1)
        a = torch.where(torch.rand(16) < 0.3, torch.randint(0, 2, (16,)), a)
        o2, r = env.step(a)
        mem.append((o, a, r, o2))
        o = o2
        s, act, rew, s2 = (torch.cat(c) for c in zip(*(mem[i] for i in torch.randint(len(mem), (3,)).tolist())))
        one, two = augment(s), augment(s)
        byol = regression(student.predictor(student.encoder(one)), teacher(two)) \
            + regression(student.predictor(student.encoder(two)), teacher(one))
        y = rew + 0.9 * q_slow(s2).max(1).values
        td = F.mse_loss(student.q(student.encoder(s)).gather(1, act[:, None]).squeeze(1), y)
        opt.zero_grad()
        (td + 0.2 * byol).backward()
        opt.step()
        with torch.no_grad():
            for p, k in zip(student.encoder.parameters(), teacher.parameters()):
                k.mul_(0.98).add_(p, alpha=0.02)
            for p, k in zip([*student.encoder.parameters(), *student.q.parameters()], q_slow.parameters()):
                k.mul_(0.97).add_(p, alpha=0.03)
        if t % 40 == 39:
            print(f"t {t} td {td.item():.4f} byol {byol.item():.4f} reward {r.mean():.3f}")


if __name__ == "__main__":
    main()

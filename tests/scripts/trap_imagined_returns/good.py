import copy

import torch
import torch.nn as nn

torch.set_num_threads(1)
OBS, ACT, H, GAMMA, LAM = 3, 1, 6, 0.9, 0.9


def true_dynamics(s, a):
    nxt = s + 0.3 * torch.cat([s[:, 1:2] - 0.4 * s[:, 0:1], a - 0.6 * s[:, 1:2], s[:, 0:1] - s[:, 2:3]], 1)
    return nxt.clamp(-3, 3), -0.5 * (nxt[:, 0] - 1).abs() - 0.05 * a.squeeze(1).abs()


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(OBS + ACT, 64), nn.ELU(), nn.Linear(64, OBS + 1))

    def forward(self, s, a):
        y = self.f(torch.cat([s, a], 1))
        return s + y[:, :OBS], y[:, OBS]


def imagine(world, actor, start):
    s, states, rewards = start, [start], []
    for _ in range(H):
        s, r = world(s, actor(s))
        states.append(s)
        rewards.append(r)
    return torch.stack(states), torch.stack(rewards)


def lambda_return(rewards, values):
    g, out = values[-1], []
    for t in reversed(range(H)):
        g = rewards[t] + GAMMA * ((1 - LAM) * values[t + 1] + LAM * g)
        out.append(g)
    return torch.stack(out[::-1])


def main():
    torch.manual_seed(61)
    world = World()
    actor = nn.Sequential(nn.Linear(OBS, 48), nn.ELU(), nn.Linear(48, ACT), nn.Tanh())
    critic = nn.Sequential(nn.Linear(OBS, 48), nn.ELU(), nn.Linear(48, 1))
    slow = copy.deepcopy(critic)
    opt = {"world": torch.optim.Adam(world.parameters(), lr=3e-3),
           "actor": torch.optim.Adam(actor.parameters(), lr=1e-3),
           "critic": torch.optim.Adam(critic.parameters(), lr=3e-3)}
    s, mem = torch.randn(16, OBS) * 0.5, []
    for t in range(150):
        with torch.no_grad():
            a = (actor(s) + 0.4 * torch.randn(16, ACT)).clamp(-1, 1)
            s2, r = true_dynamics(s, a)
        mem.append((s, a, r, s2))
        s = s2 if t % 20 else torch.randn(16, OBS) * 0.5
        bs, ba, br, bs2 = (torch.cat(c) for c in zip(*(mem[i] for i in torch.randint(len(mem), (3,)).tolist())))

        ps, pr = world(bs, ba)
        world_loss = (ps - bs2).pow(2).mean() + (pr - br).pow(2).mean()
        opt["world"].zero_grad()
        world_loss.backward()
        opt["world"].step()

        states, rewards = imagine(world, actor, bs)
        values = slow(states).squeeze(-1)
        returns = lambda_return(rewards, values)
        opt["actor"].zero_grad()
        (-returns.mean()).backward()
        opt["actor"].step()

        v = critic(states[:-1].detach()).squeeze(-1)
        critic_loss = (v - returns.detach()).pow(2).mean()
        opt["critic"].zero_grad()
        critic_loss.backward()
        opt["critic"].step()
        with torch.no_grad():
            for p, q in zip(critic.parameters(), slow.parameters()):
                q.lerp_(p, 0.05)
        if t % 30 == 29:
            print(f"t {t} world {world_loss.item():.4f} critic {critic_loss.item():.4f} reward {r.mean():+.3f}")


if __name__ == "__main__":
    main()

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class PointRobot:
    def __init__(self, n=8, horizon=20):
        self.n, self.horizon = n, horizon
        self.reset()

    def reset(self):
        self.pos = torch.rand(self.n, 2) * 4 - 2
        self.vel = torch.zeros(self.n, 2)
        self.t = 0

    def state(self):
        return torch.cat([self.pos, self.vel], 1)

    def step(self, force):
        self.vel = 0.8 * self.vel + 0.2 * force
        self.pos = (self.pos + self.vel).clamp(-3, 3)
        self.t += 1
        reward = -self.pos.norm(dim=1, keepdim=True) - 0.05 * force.pow(2).sum(1, keepdim=True)
        nxt = self.state()
        if self.t >= self.horizon:
            self.reset()
        return nxt, reward


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(4, 40), nn.Linear(40, 40), nn.Linear(40, 2)

    def forward(self, s):
        return torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(s))))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(6, 40), nn.Linear(40, 1)

    def forward(self, s, a):
        return self.l2(F.relu(self.l1(torch.cat([s, a], 1))))


class TD3:
    def __init__(self):
        self.actor, self.actor_target = Actor(), Actor()
        self.critic_1, self.critic_2 = Critic(), Critic()
        self.target_1, self.target_2 = Critic(), Critic()
        self.pairs = [(self.actor, self.actor_target), (self.critic_1, self.target_1), (self.critic_2, self.target_2)]
        for net, tgt in self.pairs:
            tgt.load_state_dict(net.state_dict())
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(
            list(self.critic_1.parameters()) + list(self.critic_2.parameters()), lr=1e-3
        )
        self.total_it = 0

    def train(self, s, a, r, s2, gamma=0.95, tau=0.02):
        self.total_it += 1
        with torch.no_grad():
            noise = (0.2 * torch.randn_like(a)).clamp(-0.4, 0.4)
            a2 = (self.actor_target(s2) + noise).clamp(-1, 1)
            target_q = r + gamma * torch.min(self.target_1(s2, a2), self.target_2(s2, a2))
        current_q1, current_q2 = self.critic_1(s, a), self.critic_2(s, a)
        critic_loss = F.mse_loss(current_q1, target_q) + F.mse_loss(current_q2, target_q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        if self.total_it % 2 == 0:
            actor_loss = -self.critic_1(s, self.actor(s)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            with torch.no_grad():
                for net, tgt in self.pairs:
                    for p, tp in zip(net.parameters(), tgt.parameters()):
                        tp.copy_(tau * p + (1 - tau) * tp)
        return critic_loss.item(), (current_q1 - current_q2).abs().mean().item()


if __name__ == "__main__":
    torch.manual_seed(21)
    env, agent, memory = PointRobot(), TD3(), []
    for step in range(160):
        s = env.state()
        with torch.no_grad():
            a = (agent.actor(s) + 0.2 * torch.randn(env.n, 2)).clamp(-1, 1)
        s2, r = env.step(a)
        memory.append((s, a, r, s2))
        if step >= 40 and step % 2 == 0:
            S, A, R, S2 = (torch.cat(c) for c in zip(*memory))
            pick = torch.randint(0, len(S), (64,))
            loss, gap = agent.train(S[pick], A[pick], R[pick], S2[pick])
            if step % 20 == 0:
                print(f"step {step}  critic {loss:.4f}  |q1-q2| {gap:.3f}  reward {r.mean():.3f}")

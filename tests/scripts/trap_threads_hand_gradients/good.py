"""Three threads walk a corridor with networks of their own and hand their gradients to a shared one."""

import threading

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
LENGTH = 7


class Corridor:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.place = int(self.rng.integers(1, LENGTH - 1))
        return self.seen()

    def seen(self):
        out = np.zeros(LENGTH, np.float32)
        out[self.place] = 1.0
        return out

    def step(self, action):
        self.place += 1 if action == 1 else -1
        over = self.place in (0, LENGTH - 1)
        reward = -0.02
        if over:
            reward = 1.0 if self.place > 0 else -1.0
        return self.seen(), reward, over


class Walker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(LENGTH, 24), nn.Linear(24, 2), nn.Linear(24, 1)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.policy(h), self.value(h).squeeze(-1)


def walk(number, shared, optimizer, lock, returns):
    rng = np.random.default_rng(number)
    env, mine = Corridor(rng), Walker()
    for _ in range(60):
        with lock:
            mine.load_state_dict(shared.state_dict())
        obs, over, steps = env.reset(), False, []
        while not over and len(steps) < 20:
            logits, value = mine(torch.from_numpy(obs))
            logp = F.log_softmax(logits, -1)
            chance = logp.exp()
            action = int(rng.random() < chance[1].item())
            obs, reward, over = env.step(action)
            steps.append((logp[action], value, reward, -(chance * logp).sum()))
        ahead, policy_loss, value_loss = 0.0, 0.0, 0.0
        for log_prob, value, reward, entropy in reversed(steps):
            ahead = reward + 0.95 * ahead
            policy_loss = policy_loss - log_prob * (ahead - value.detach()) - 0.01 * entropy
            value_loss = value_loss + 0.5 * (ahead - value).pow(2)
        mine.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        with lock:
            for theirs, p in zip(shared.parameters(), mine.parameters()):
                theirs.grad = p.grad.clone()
            optimizer.step()
            returns.append(sum(reward for _, _, reward, _ in steps))


if __name__ == "__main__":
    shared, lock, returns = Walker(), threading.Lock(), []
    optimizer = torch.optim.Adam(shared.parameters(), lr=5e-3)
    threads = [threading.Thread(target=walk, args=(n, shared, optimizer, lock, returns)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"first 30: {np.mean(returns[:30]):.2f}, last 30: {np.mean(returns[-30:]):.2f}")

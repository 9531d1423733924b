# homework: REINFORCE with a learned baseline on a little "catch the ball" game written in torch
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(7)

WIDTH, HEIGHT = 5, 6
GAMMA = 0.9


class Catch:
    """A ball falls, the paddle moves left, stays or moves right. Rewards are 0-dim tensors."""

    def reset(self):
        self.ball = torch.stack([torch.randint(0, WIDTH, ()), torch.tensor(0)])
        self.paddle = torch.randint(0, WIDTH, ())
        return self.state()

    def state(self):
        return torch.stack([self.ball[0] / WIDTH - 0.5, self.ball[1] / HEIGHT - 0.5,
                            self.paddle / WIDTH - 0.5, (self.ball[0] - self.paddle) / WIDTH])

    def step(self, action):
        before = (self.ball[0] - self.paddle).abs()
        self.paddle = (self.paddle + action - 1).clamp(0, WIDTH - 1)
        self.ball = self.ball + torch.tensor([0, 1])
        gap = (self.ball[0] - self.paddle).abs()
        reward = 0.3 * (before - gap).float()
        done = bool(self.ball[1] >= HEIGHT)
        if done:
            reward = reward + 1.0 - 0.5 * gap
        return self.state(), reward, done


class PolicyNet(nn.Module):
    def __init__(self):
        super(PolicyNet, self).__init__()
        self.affine1 = nn.Linear(4, 32)
        self.affine2 = nn.Linear(32, 3)

    def forward(self, x):
        return F.softmax(self.affine2(torch.tanh(self.affine1(x))), dim=-1)


class BaselineNet(nn.Module):
    def __init__(self):
        super(BaselineNet, self).__init__()
        self.affine1 = nn.Linear(4, 32)
        self.affine2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.affine2(torch.tanh(self.affine1(x))).squeeze(-1)


policy = PolicyNet()
baseline = BaselineNet()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline_optimizer = torch.optim.Adam(baseline.parameters(), lr=2e-2)
env = Catch()


def select_action(state):
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    return action.item(), m.log_prob(action), m.entropy()


running_reward = 0
for update in range(30):
    log_probs, entropies, states, returns, total = [], [], [], [], 0
    for episode in range(6):
        state, done, rewards = env.reset(), False, []
        while not done:
            action, log_prob, entropy = select_action(state)
            states.append(state)
            state, reward, done = env.step(action)
            log_probs.append(log_prob)
            entropies.append(entropy)
            rewards.append(reward.item())
        R, episode_returns = 0, []
        for r in rewards[::-1]:
            R = r + GAMMA * R
            episode_returns.insert(0, R)
        returns += episode_returns
        total += sum(rewards)

    returns = torch.tensor(returns)
    values = baseline(torch.stack(states))
    advantages = returns - values.detach()

    policy_loss = []
    for log_prob, adv in zip(log_probs, advantages):
        policy_loss.append(-log_prob * adv.item())
    policy_loss = torch.stack(policy_loss).mean() - 0.01 * torch.stack(entropies).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()

    for _ in range(3):
        value_loss = F.mse_loss(values, returns)
        baseline_optimizer.zero_grad()
        value_loss.backward()
        baseline_optimizer.step()
        values = baseline(torch.stack(states))

    running_reward = total / 6 if update == 0 else 0.8 * running_reward + 0.2 * total / 6
    if update % 5 == 0:
        print("update %d\treward %.2f\tpolicy loss %.3f\tvalue loss %.3f" % (
            update, running_reward, policy_loss.item(), value_loss.item()))

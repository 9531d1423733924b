import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

torch.set_num_threads(1)
torch.manual_seed(0)
OBS, ACT, HID, T = 2, 1, 24, 8


class QNetworkLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(OBS + ACT, HID)
        self.lstm = nn.LSTM(HID, HID, batch_first=True)
        self.out = nn.Linear(HID, 1)

    def forward(self, state, action, hidden):
        x = F.relu(self.inp(torch.cat([state, action], -1)))
        x, hidden = self.lstm(x, hidden)
        return self.out(x), hidden


class PolicyLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(OBS, HID)
        self.lstm = nn.LSTM(HID, HID, batch_first=True)
        self.mean, self.log_std = nn.Linear(HID, ACT), nn.Linear(HID, ACT)

    def evaluate(self, state, hidden):
        x, hidden = self.lstm(F.relu(self.inp(state)), hidden)
        log_std = self.log_std(x).clamp(-5, 1)
        normal = Normal(0, 1)
        z = normal.sample(log_std.shape)
        raw = self.mean(x) + log_std.exp() * z
        action = torch.tanh(raw)
        log_prob = Normal(self.mean(x), log_std.exp()).log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(-1, keepdim=True), hidden


def zeros(n):
    return torch.zeros(1, n, HID), torch.zeros(1, n, HID)


class SAC_Trainer:
    def __init__(self, gamma=0.9, tau=0.02, alpha=0.05):
        self.q1, self.q2 = QNetworkLSTM(), QNetworkLSTM()
        self.tq1, self.tq2 = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.policy = PolicyLSTM()
        self.q1_opt = torch.optim.Adam(self.q1.parameters(), lr=2e-3)
        self.q2_opt = torch.optim.Adam(self.q2.parameters(), lr=2e-3)
        self.pi_opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.gamma, self.tau, self.alpha = gamma, tau, alpha

    def update(self, state, action, reward, next_state):
        n = len(state)
        predicted_q1, _ = self.q1(state, action, zeros(n))
        predicted_q2, _ = self.q2(state, action, zeros(n))
        new_action, log_prob, _ = self.policy.evaluate(state, zeros(n))
        new_next, next_log_prob, _ = self.policy.evaluate(next_state, zeros(n))

        t1, _ = self.tq1(next_state, new_next, zeros(n))
        t2, _ = self.tq2(next_state, new_next, zeros(n))
        target_q = reward + self.gamma * (torch.min(t1, t2) - self.alpha * next_log_prob)
        loss1 = F.mse_loss(predicted_q1, target_q.detach())
        loss2 = F.mse_loss(predicted_q2, target_q.detach())
        self.q1_opt.zero_grad()
        loss1.backward()
        self.q1_opt.step()
        self.q2_opt.zero_grad()
        loss2.backward()
        self.q2_opt.step()

        q_new = torch.min(self.q1(state, new_action, zeros(n))[0], self.q2(state, new_action, zeros(n))[0])
        policy_loss = (self.alpha * log_prob - q_new).mean()
        self.pi_opt.zero_grad()
        policy_loss.backward()
        self.pi_opt.step()
        for net, target in ((self.q1, self.tq1), (self.q2, self.tq2)):
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.copy_(tp.data * (1.0 - self.tau) + p.data * self.tau)
        return loss1.item(), policy_loss.item()


def sequences(n):
    level = torch.rand(n, T + 1, 1) * 2 - 1
    obs = torch.cat([level, torch.rand(n, T + 1, 1)], -1)
    act = torch.rand(n, T, 1) * 2 - 1
    prev = torch.cat([torch.zeros(n, 1, 1), level[:, :T - 1]], 1)
    reward = 1 - (act - 0.5 * prev).pow(2)
    return obs[:, :T], act, reward, obs[:, 1:]


trainer = SAC_Trainer()
for it in range(80):
    q, p = trainer.update(*sequences(32))
    if it % 20 == 19:
        print(f"it {it + 1} q {q:.4f} policy {p:.4f}")

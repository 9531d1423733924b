"""A2C. Rollouts are numpy arrays filled from worker processes, advantages are computed in numpy,
and the update runs the network again on the stored observations."""
import numpy as np
import torch
from torch import nn
from vec_env import PipeVecEnv

torch.set_num_threads(1)


class ActorCritic(nn.Module):
    def __init__(self, obs=2, act=3, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, act)
        self.v = nn.Linear(hidden, 1)

    def forward(self, x):
        z = self.trunk(x)
        return torch.distributions.Categorical(logits=self.pi(z)), self.v(z)[:, 0]


def numpy_gae(rewards, values, dones, last_value, gamma=0.9, lam=0.95):
    T = len(rewards)
    adv = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1], np.float32)
    values = np.concatenate([values, last_value[None]])
    for t in range(T - 1, -1, -1):
        delta = rewards[t] + gamma * (1 - dones[t]) * values[t + 1] - values[t]
        running = delta + gamma * lam * (1 - dones[t]) * running
        adv[t] = running
    return adv, adv + values[:-1]


class Runner:
    def __init__(self, env, net, n_env, horizon):
        self.env, self.net, self.n, self.T = env, net, n_env, horizon
        self.obs = env.reset()

    def collect(self):
        O = np.zeros((self.T, self.n, 2), np.float32)
        A = np.zeros((self.T, self.n), np.int64)
        R, V, D = (np.zeros((self.T, self.n), np.float32) for _ in range(3))
        for t in range(self.T):
            dist, value = self.net(torch.from_numpy(self.obs))
            action = dist.sample().numpy()
            O[t], A[t], V[t] = self.obs, action, value.detach().numpy()
            self.obs, R[t], D[t] = self.env.step(action)
        last = self.net(torch.from_numpy(self.obs))[1].detach().numpy()
        adv, ret = numpy_gae(R, V, D, last)
        return O, A, adv, ret, V, R


def main():
    torch.manual_seed(0)
    n_env, horizon = 4, 24
    env = PipeVecEnv(n_env)
    net = ActorCritic()
    opt = torch.optim.RMSprop(net.parameters(), lr=4e-3, eps=1e-5)
    runner = Runner(env, net, n_env, horizon)
    for update in range(25):
        O, A, adv, ret, V, R = runner.collect()
        obs = torch.tensor(O.reshape(-1, 2))
        act = torch.tensor(A.reshape(-1))
        adv_t = torch.tensor((adv.reshape(-1) - adv.mean()) / (adv.std() + 1e-8))
        ret_t = torch.tensor(ret.reshape(-1))
        dist, value = net(obs)
        pg = -(dist.log_prob(act) * adv_t).mean()
        vf = 0.5 * (ret_t - value).pow(2).mean()
        loss = pg + 0.5 * vf - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if update % 6 == 0:
            ev = 1 - np.var(ret - V) / np.var(ret)
            print(f"update {update} reward {R.mean():.3f} vf {vf.item():.3f} explained variance {ev:.2f}")
    env.close()


if __name__ == "__main__":
    main()

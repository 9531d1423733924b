# SAC, CleanRL layout: action scaling as buffers, delayed but compensated policy updates, autotuned alpha
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.set_num_threads(1)
LOG_STD_MAX, LOG_STD_MIN = 2, -5


class SoftQNetwork(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim + act_dim, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 1)

    def forward(self, x, a):
        x = F.relu(self.fc1(torch.cat([x, a], 1)))
        return self.fc3(F.relu(self.fc2(x)))


class Actor(nn.Module):
    def __init__(self, obs_dim, space):
        super().__init__()
        self.fc1 = nn.Linear(obs_dim, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc_mean = nn.Linear(64, space.shape[0])
        self.fc_logstd = nn.Linear(64, space.shape[0])
        self.register_buffer("action_scale", torch.tensor((space.high - space.low) / 2.0, dtype=torch.float32))
        self.register_buffer("action_bias", torch.tensor((space.high + space.low) / 2.0, dtype=torch.float32))

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)

    def get_action(self, x):
        mean, log_std = self(x)
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t) - torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return action, log_prob.sum(1, keepdim=True), torch.tanh(mean) * self.action_scale + self.action_bias


if __name__ == "__main__":
    seed, gamma, tau, policy_frequency, target_frequency = 3, 0.95, 0.02, 2, 1
    np.random.seed(seed)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = gym.make("Pendulum-v1")
    env.action_space.seed(seed)

    actor = Actor(3, env.action_space)
    qf1, qf2 = SoftQNetwork(3, 1), SoftQNetwork(3, 1)
    qf1_target, qf2_target = SoftQNetwork(3, 1), SoftQNetwork(3, 1)
    qf1_target.load_state_dict(qf1.state_dict())
    qf2_target.load_state_dict(qf2.state_dict())
    q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=1e-3)
    actor_optimizer = optim.Adam(list(actor.parameters()), lr=3e-4)

    target_entropy = -float(np.prod(env.action_space.shape))
    log_alpha = torch.zeros(1, requires_grad=True)
    alpha = log_alpha.exp().item()
    a_optimizer = optim.Adam([log_alpha], lr=1e-3)

    store = []
    obs, _ = env.reset(seed=seed)
    for global_step in range(320):
        if global_step < 100:
            action = env.action_space.sample()
        else:
            action = actor.get_action(torch.Tensor(obs[None]))[0].detach().cpu().numpy()[0]
        next_obs, reward, terminated, truncated, _ = env.step(action)
        store.append((obs, action, 0.1 * reward, next_obs, terminated))
        obs = next_obs if not (terminated or truncated) else env.reset()[0]
        if global_step < 100 or global_step % 4:
            continue

        rows = [store[i] for i in rng.integers(0, len(store), 48)]
        o, a, r, o2, d = (torch.tensor(np.array(c), dtype=torch.float32) for c in zip(*rows))
        with torch.no_grad():
            next_a, next_log_pi, _ = actor.get_action(o2)
            min_qf_next_target = torch.min(qf1_target(o2, next_a), qf2_target(o2, next_a)) - alpha * next_log_pi
            next_q_value = r.flatten() + (1 - d.flatten()) * gamma * min_qf_next_target.view(-1)
        qf1_a_values = qf1(o, a).view(-1)
        qf2_a_values = qf2(o, a).view(-1)
        qf_loss = F.mse_loss(qf1_a_values, next_q_value) + F.mse_loss(qf2_a_values, next_q_value)
        q_optimizer.zero_grad()
        qf_loss.backward()
        q_optimizer.step()

        if global_step % (4 * policy_frequency) == 0:
            for _ in range(policy_frequency):
                pi, log_pi, _ = actor.get_action(o)
                min_qf_pi = torch.min(qf1(o, pi), qf2(o, pi))
                actor_loss = ((alpha * log_pi) - min_qf_pi).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()

                with torch.no_grad():
                    _, log_pi, _ = actor.get_action(o)
                alpha_loss = (-log_alpha.exp() * (log_pi + target_entropy)).mean()
                a_optimizer.zero_grad()
                alpha_loss.backward()
                a_optimizer.step()
                alpha = log_alpha.exp().item()

        if global_step % target_frequency == 0:
            for net, tgt in ((qf1, qf1_target), (qf2, qf2_target)):
                for param, target_param in zip(net.parameters(), tgt.parameters()):
                    target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
        if global_step % 40 == 0:
            print(f"step {global_step} qf {qf_loss.item() / 2:.3f} q {qf1_a_values.mean().item():.3f} "
                  f"actor {actor_loss.item():.3f} alpha {alpha:.4f}")
    env.close()

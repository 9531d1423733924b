"""QMIX, three agents that must spread over targets; one optimizer holds the shared agent net and the mixer."""
import copy

import numpy as np
import torch
import torch.nn as nn
from mixer import QMixer

torch.set_num_threads(1)
N_AGENTS, N_ACTIONS, STATE = 3, 3, 6


class Spread:
    """Each agent sees its own clue and its index; the team is paid for matched clues and for covering all cells."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.clue = self.rng.integers(0, N_ACTIONS, N_AGENTS)
        return self.observe()

    def observe(self):
        obs = np.concatenate([np.eye(N_ACTIONS)[self.clue], np.eye(N_AGENTS)], 1) + 0.1 * self.rng.normal(size=(N_AGENTS, 6))
        state = np.concatenate([self.clue / N_ACTIONS - 0.5, np.bincount(self.clue, minlength=N_ACTIONS) / N_AGENTS - 0.5])
        return obs.astype(np.float32), (4 * state).astype(np.float32)

    def step(self, actions):
        reward = (actions == self.clue).mean() + 0.5 * (len(set(actions.tolist())) == N_ACTIONS)
        done = self.rng.random() < 0.25
        obs, state = self.reset()
        return obs, state, float(reward), done


class SharedAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 32)
        self.fc2 = nn.Linear(32, N_ACTIONS)

    def forward(self, obs):
        return self.fc2(torch.tanh(self.fc1(obs)))


class QLearner:
    def __init__(self, gamma=0.6, lr=4e-3):
        self.mac, self.mixer = SharedAgent(), QMixer(N_AGENTS, STATE)
        self.params = list(self.mac.parameters())
        self.params += list(self.mixer.parameters())
        self.target_mac, self.target_mixer = copy.deepcopy(self.mac), copy.deepcopy(self.mixer)
        self.optimiser = torch.optim.RMSprop(self.params, lr=lr, alpha=0.99, eps=1e-5)
        self.gamma, self.last_sync, self.t = gamma, 0, 0

    def act(self, obs, eps, rng):
        q = self.mac(torch.from_numpy(obs))
        greedy = q.max(dim=1)[1].numpy()
        explore = rng.random(N_AGENTS) < eps
        return np.where(explore, rng.integers(0, N_ACTIONS, N_AGENTS), greedy)

    def train(self, batch):
        obs, state, act, rew, obs2, state2, done = batch
        chosen = torch.gather(self.mac(obs), 2, act.unsqueeze(2)).squeeze(2)
        mac_next = self.mac(obs2).clone().detach()
        best = mac_next.max(dim=2, keepdim=True)[1]
        target_max = torch.gather(self.target_mac(obs2), 2, best).squeeze(2)
        q_tot = self.mixer(chosen, state)
        target_tot = self.target_mixer(target_max, state2)
        targets = rew + self.gamma * (1 - done) * target_tot
        td_error = q_tot - targets.detach()
        loss = (td_error ** 2).mean()
        self.optimiser.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(self.params, 10)
        self.optimiser.step()
        self.t += 1
        if self.t - self.last_sync >= 10:
            self.target_mac.load_state_dict(self.mac.state_dict())
            self.target_mixer.load_state_dict(self.mixer.state_dict())
            self.last_sync = self.t
        return loss.item(), grad_norm.item(), td_error.abs().mean().item()


def main():
    torch.manual_seed(0)
    env, learner, rng, memory = Spread(), QLearner(), np.random.default_rng(1), []
    obs, state = env.reset()
    for step in range(240):
        act = learner.act(obs, max(0.1, 1 - step / 150), rng)
        obs2, state2, reward, done = env.step(act)
        memory.append((obs, state, act, reward, obs2, state2, float(done)))
        obs, state = obs2, state2
        if step >= 40 and step % 4 == 0:
            rows = [memory[i] for i in rng.integers(0, len(memory), 32)]
            cols = [torch.as_tensor(np.array(c)) for c in zip(*rows)]
            loss, norm, td = learner.train([c.float() if c.dtype == torch.float64 else c for c in cols])
            if step % 40 == 0:
                print(f"step {step} loss {loss:.4f} grad norm {norm:.3f} |td| {td:.3f} reward {np.mean([m[3] for m in memory[-40:]]):.3f}")


if __name__ == "__main__":
    main()

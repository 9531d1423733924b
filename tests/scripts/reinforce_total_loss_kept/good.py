"""policy gradient, CartPole, one update per five episodes"""
import gymnasium as gym
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.set_num_threads(1)

config = {"env": "CartPole-v1", "episodes": 60, "episodes_per_update": 5, "gamma": 0.97, "lr": 5e-3, "max_steps": 40}


class Net(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super(Net, self).__init__()
        self.affine1 = nn.Linear(n_in, n_hidden)
        self.affine2 = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        x = torch.tanh(self.affine1(x))
        return self.affine2(x)


def play(env, net, seed=None):
    state, _ = env.reset(seed=seed)
    log_probs, rewards = [], []
    for _ in range(config["max_steps"]):
        dist = Categorical(logits=net(torch.from_numpy(state)))
        action = dist.sample()
        state, reward, terminated, truncated, _ = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        rewards.append(reward)
        if terminated or truncated:
            break
    return log_probs, rewards


def discounted(rewards, gamma):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-6)


def main():
    torch.manual_seed(543)
    env = gym.make(config["env"])
    net = Net(4, 32, 2)
    optimizer = optim.Adam(net.parameters(), lr=config["lr"])
    total_loss = torch.zeros(())
    lengths = []
    for episode in range(1, config["episodes"] + 1):
        log_probs, rewards = play(env, net, seed=543 if episode == 1 else None)
        returns = discounted(rewards, config["gamma"])
        episode_loss = -(torch.stack(log_probs) * returns).sum()
        total_loss = total_loss + episode_loss / config["episodes_per_update"]
        lengths.append(len(rewards))
        if episode % config["episodes_per_update"] == 0:
            optimizer.zero_grad()
            total_loss.backward()
            optimizer.step()
            print(f"episode {episode:3d} mean length {sum(lengths[-5:]) / 5:.1f} loss {total_loss.item():+.3f}")
            total_loss = torch.zeros(())
    env.close()


if __name__ == "__main__":
    main()

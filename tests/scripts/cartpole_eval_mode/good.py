import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)


def make_policy():
    return nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 2))


def evaluate(policy, env, episodes=2):
    policy.eval()
    torch.set_grad_enabled(False)
    scores = []
    for k in range(episodes):
        obs, _ = env.reset(seed=900 + k)
        score, over = 0.0, False
        while not over:
            greedy = policy(torch.as_tensor(obs)).argmax().item()
            obs, r, term, trunc, _ = env.step(greedy)
            score += r
            over = term or trunc or score >= 150
        scores.append(score)
    torch.set_grad_enabled(True)
    policy.train()
    return float(np.mean(scores))


def run_episode(policy, env, seed):
    obs, _ = env.reset(seed=seed)
    frames, actions, rewards, over = [], [], [], False
    while not over:
        x = torch.as_tensor(obs)
        with torch.no_grad():
            probs = torch.softmax(policy(x), dim=-1)
        a = int(torch.multinomial(probs, 1))
        obs, r, term, trunc, _ = env.step(a)
        frames.append(x), actions.append(a), rewards.append(r)
        over = term or trunc or len(rewards) >= 150
    return torch.stack(frames), torch.tensor(actions), rewards


def reward_to_go(rewards, gamma=0.98):
    out = np.zeros(len(rewards), dtype=np.float32)
    acc = 0.0
    for i in range(len(rewards) - 1, -1, -1):
        acc = rewards[i] + gamma * acc
        out[i] = acc
    return torch.from_numpy(out)


def train(policy, env, opt, epoch, batch=4):
    obs, act, ret = [], [], []
    for k in range(batch):
        o, a, r = run_episode(policy, env, seed=epoch * batch + k)
        obs.append(o), act.append(a), ret.append(reward_to_go(r))
    obs, act, ret = map(torch.cat, (obs, act, ret))
    weight = (ret - ret.mean()) / (ret.std() + 1e-6)
    log_pi = torch.log_softmax(policy(obs), dim=-1)
    loss = -(weight * log_pi[torch.arange(len(act)), act]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return len(obs) / batch


def main():
    torch.manual_seed(2)
    env, eval_env = gym.make("CartPole-v1"), gym.make("CartPole-v1")
    policy = make_policy()
    opt = torch.optim.Adam(policy.parameters(), lr=8e-3)
    for epoch in range(24):
        length = train(policy, env, opt, epoch)
        if (epoch + 1) % 6 == 0:
            print(f"epoch {epoch + 1} train length {length:.1f} greedy score {evaluate(policy, eval_env):.1f}")


if __name__ == "__main__":
    main()

import torch


def td_target(target_net, rewards, next_states, done, gamma):
    with torch.no_grad():
        following = target_net(next_states)  # (N, actions)
        return rewards + gamma * (1 - done) * following.max(1).values

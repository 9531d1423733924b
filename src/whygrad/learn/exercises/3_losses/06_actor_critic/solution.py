import torch


def losses(critic, log_probs, states, rewards, next_states, done, gamma):
    value = critic(states).squeeze(1)
    target = (rewards + gamma * (1 - done) * critic(next_states).squeeze(1)).detach()
    advantage = target - value.detach()
    actor_loss = -(log_probs * advantage).mean()
    critic_loss = torch.nn.functional.mse_loss(value, target)
    return actor_loss, critic_loss

import torch


def act(policy, states):
    logits = policy(states)
    probabilities = torch.softmax(logits, dim=1)
    actions = torch.multinomial(probabilities, 1).squeeze(1)
    log_probs = torch.log_softmax(logits, dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)
    return actions, log_probs

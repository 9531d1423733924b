def chosen(log_probs, actions):
    return log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

def temperature_loss(log_alpha, log_probs, target_entropy):
    return -(log_alpha * (log_probs + target_entropy).detach()).mean()

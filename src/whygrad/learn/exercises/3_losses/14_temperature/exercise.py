"""A temperature that finds itself.

SAC can learn alpha, the weight of entropy: up when the policy is less open than wanted, down when it is more open.

Task: log_alpha is a leaf. Return the loss minus the mean of log_alpha · (log-probability + target_entropy). It trains
log_alpha alone: the log-probabilities are constants here.
"""

def temperature_loss(log_alpha, log_probs, target_entropy):
    return ...  # TODO

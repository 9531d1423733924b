"""A constant made of a value: detach.

x.detach() has the same numbers as x and no history. Gradient does not pass it. Targets, advantages and logs are made
that way.

Task: `value` is a prediction, `target` is made from the same weight: reward + 0.9 · weight · next_x. Return the loss
(value - target)², with a gradient that comes from the prediction alone.
"""


def td_loss(weight, x, reward, next_x):
    value = weight * x
    target = ...  # TODO: reward + 0.9 * weight * next_x, as a constant
    return (value - target) ** 2

def td_loss(weight, x, reward, next_x):
    value = weight * x
    target = (reward + 0.9 * weight * next_x).detach()
    return (value - target) ** 2

def unreached(tape, loss, variables):
    gradients = tape.gradient(loss, variables)
    return [place for place, gradient in enumerate(gradients) if gradient is None]

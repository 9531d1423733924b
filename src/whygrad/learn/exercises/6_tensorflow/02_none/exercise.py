"""None is not zero.

tape.gradient gives one answer for every variable. None means that the tape knows no way from the loss to the variable: it
is not used, or the way was cut. Zeros mean that there is a way, on which nothing comes back this time.

Task: return the places (0 for the first, 1 for the second, …) of the variables that the loss does not reach, as a list.
"""

def unreached(tape, loss, variables):
    gradients = ...  # TODO: ask the tape
    return ...  # TODO: the places of those without a way

"""A tape writes it down.

TensorFlow keeps no history of its own. A tf.GradientTape records what is computed inside its `with`, by itself only from
variables; any other tensor must be shown to it with tape.watch. tape.gradient(y, [a, b]) then walks back, once.

Task: return the slopes of y = variable² · constant by both. At 3 and 2 they are 12 and 9.
"""

import tensorflow as tf


def slopes(variable, constant):
    with tf.GradientTape() as tape:
        ...  # TODO: let the tape watch the constant as well
        y = variable**2 * constant
    return ...  # TODO: ask the tape for both slopes at once

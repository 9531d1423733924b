"""Histograms of gradients in TensorFlow, raw and clipped.

Task: in one training step, clip the gradients together to a norm of at most `most`, and write a histogram of every one
before clipping, as "raw/0", "raw/1" and so on, and after it, as "clipped/0", "clipped/1". write(name, values, step=step)
is tf.summary.histogram, or looks like it. The step takes the clipped ones.
"""

import tensorflow as tf


def train_step(variables, optimizer, tape, loss, most, write, step):
    gradients = tape.gradient(loss, variables)
    ...  # TODO: raw, clip, clipped
    optimizer.apply_gradients(zip(gradients, variables))


if __name__ == "__main__":
    weights = tf.Variable([1.0, 2.0, 3.0])
    with tf.summary.create_file_writer("runs").as_default():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights**2)
        train_step([weights], tf.keras.optimizers.SGD(0.1), tape, loss, 0.5, tf.summary.histogram, 0)

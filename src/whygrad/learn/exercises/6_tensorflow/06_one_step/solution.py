import tensorflow as tf


def inspect(net, loss_of):
    with tf.GradientTape() as tape:
        loss = loss_of(net)
    gradients = tape.gradient(loss, net.trainable_variables)
    return [None if gradient is None else float(tf.norm(gradient)) for gradient in gradients]

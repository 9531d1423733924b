"""Find the bug: the tape came too late.

The update stops with "No gradients provided for any variable", although everything that a DQN needs is there.

Task: find the line that the tape does not see (TODO), so that whygrad finds nothing and net learns.
"""

import tensorflow as tf


def update(net, target_net, optimizer, states, actions, rewards, next_states):
    values = tf.gather(net(states), actions, batch_dims=1)
    target = rewards + 0.9 * tf.reduce_max(target_net(next_states), axis=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((values - target) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))

import tensorflow as tf


def update(net, target_net, optimizer, states, actions, rewards, next_states):
    target = rewards + 0.9 * tf.reduce_max(target_net(next_states), axis=1)
    with tf.GradientTape() as tape:
        values = tf.gather(net(states), actions, batch_dims=1)
        loss = tf.reduce_mean((values - target) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))

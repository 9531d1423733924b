import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)


def mlp(outputs, inputs=4):
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model


def batch(size=16):
    obs = rng.normal(size=(size, 4)).astype("float32")
    following = (0.9 * obs + 0.1 * rng.normal(size=obs.shape)).astype("float32")
    actions = rng.integers(0, 2, size).astype("int32")
    rewards = (obs[:, 0] * (2 * actions - 1)).astype("float32")
    return tf.constant(obs), tf.constant(actions), tf.constant(rewards), tf.constant(following)


q_net, target_net = mlp(2), mlp(2)
target_net.set_weights(q_net.get_weights())
optimizer = keras.optimizers.Adam(1e-3)

for step in range(20):
    obs, actions, rewards, following = batch()
    with tf.GradientTape() as tape:
        q_sa = tf.gather(q_net(obs), actions, batch_dims=1)
        target = rewards + 0.99 * tf.reduce_max(target_net(following), axis=1)
        loss = tf.reduce_mean(tf.square(q_sa - tf.stop_gradient(target)))
    variables = q_net.trainable_variables
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    if step % 10 == 0:
        target_net.set_weights(q_net.get_weights())

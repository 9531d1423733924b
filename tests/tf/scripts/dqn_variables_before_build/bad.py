import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)



def batch(size=16):
    obs = rng.normal(size=(size, 4)).astype("float32")
    following = (0.9 * obs + 0.1 * rng.normal(size=obs.shape)).astype("float32")
    actions = rng.integers(0, 2, size).astype("int32")
    rewards = (obs[:, 0] * (2 * actions - 1)).astype("float32")
    return tf.constant(obs), tf.constant(actions), tf.constant(rewards), tf.constant(following)


class QNetwork(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(16, activation="tanh")
        self.values = keras.layers.Dense(2)

    def call(self, obs):
        return self.values(self.hidden(obs))


q_net = QNetwork()
optimizer = keras.optimizers.Adam(1e-3)
variables = q_net.trainable_variables  # <- culprit
for step in range(20):
    obs, actions, rewards, following = batch()
    with tf.GradientTape() as tape:
        q_sa = tf.gather(q_net(obs), actions, batch_dims=1)
        loss = tf.reduce_mean(tf.square(q_sa - rewards))
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))

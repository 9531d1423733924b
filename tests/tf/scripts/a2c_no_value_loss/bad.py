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


actor, critic = mlp(2), mlp(1)
optimizer = keras.optimizers.Adam(1e-3)
variables = actor.trainable_variables + critic.trainable_variables


@tf.function
def train_step(obs, actions, rewards, following):
    with tf.GradientTape() as tape:
        values = tf.squeeze(critic(obs), 1)
        logs = tf.gather(tf.nn.log_softmax(actor(obs)), actions, batch_dims=1)
        advantage = tf.stop_gradient(rewards - values)
        loss = -tf.reduce_mean(logs * advantage)
    grads = tape.gradient(loss, variables)  # <- culprit
    optimizer.apply_gradients([(g, v) for g, v in zip(grads, variables)])
    return loss


for step in range(20):
    train_step(*batch())

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
actor_optimizer, critic_optimizer = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(1e-3)


def log_prob(obs, actions):
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=actor(obs))


@tf.function
def train_actor(obs, actions, advantages):
    with tf.GradientTape() as tape:
        logs = log_prob(obs, actions)
        if tf.reduce_mean(advantages) > 0.0:
            weighted = logs * advantages
        else:
            weighted = logs * 0.5 * advantages
        loss = -tf.reduce_mean(weighted)
    grads = tape.gradient(loss, actor.trainable_variables)
    actor_optimizer.apply_gradients(zip(grads, actor.trainable_variables))


for iteration in range(8):
    obs, actions, rewards, following = batch(32)
    train_actor(obs, actions, rewards)

import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)


def mlp(outputs, inputs=4):
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model


actor, critic = mlp(2), mlp(1, 5)
actor_optimizer, critic_optimizer = keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3)


def act(obs):
    mean, log_std = tf.split(actor(obs), 2, axis=1)
    noise = tf.random.normal(tf.shape(mean))
    pre = mean + tf.exp(tf.clip_by_value(log_std, -4.0, 1.0)) * noise
    logs = tf.reduce_sum(-0.5 * tf.square(noise) - log_std - tf.math.log(1.0 - tf.square(tf.tanh(pre)) + 1e-6), axis=1)
    return tf.tanh(pre), logs


def data(size=32):
    obs = tf.random.normal([size, 4])
    actions = tf.random.uniform([size, 1], -1.0, 1.0)
    return obs, actions, -tf.abs(actions[:, 0] - obs[:, 0])


@tf.function
def train_step(obs, actions, rewards):
    with tf.GradientTape() as tape:
        values = tf.squeeze(critic(tf.concat([obs, actions], axis=1)), 1)
        critic_loss = tf.reduce_mean(tf.square(values - rewards))
    grads = tape.gradient(critic_loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(grads, critic.trainable_variables))
    with tf.GradientTape() as tape:
        action, logs = act(obs)
        limited = tf.clip_by_value(action, -0.9, 0.9)
        limited = tf.reshape(limited, [-1, 1])
        actor_loss = -tf.reduce_mean(critic(tf.concat([obs, limited], axis=1)))
    grads = tape.gradient(actor_loss, actor.trainable_variables)
    actor_optimizer.apply_gradients(zip(grads, actor.trainable_variables))


for step in range(15):
    train_step(*data())

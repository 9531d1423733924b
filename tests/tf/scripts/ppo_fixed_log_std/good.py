import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)


def mlp(outputs, inputs=4):
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model


actor = mlp(1)
log_std = tf.Variable([0.0], name="log_std")
optimizer = keras.optimizers.Adam(1e-3)
std_optimizer = keras.optimizers.Adam(1e-3)

for iteration in range(10):
    obs = tf.random.normal([32, 4])
    actions = actor(obs) + tf.random.normal([32, 1])
    advantages = -tf.abs(actions[:, 0] - obs[:, 0])
    with tf.GradientTape(persistent=True) as tape:
        error = (actions - actor(obs)) / tf.exp(log_std)
        logs = tf.reduce_sum(-0.5 * tf.square(error) - log_std, axis=1)
        loss = -tf.reduce_mean(logs * advantages)
        spread_loss = -tf.reduce_mean(tf.exp(log_std))
    grads = tape.gradient(loss, actor.trainable_variables)
    optimizer.apply_gradients(zip(grads, actor.trainable_variables))
    grad = tape.gradient(spread_loss, [log_std])
    std_optimizer.apply_gradients(zip(grad, [log_std]))

import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)


def mlp(outputs, inputs=4):
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model


def episode(policy, length=12):
    """One walk on a line; the policy acts on what it sees."""
    position, observations, actions, rewards = 0.0, [], [], []
    for _ in range(length):
        obs = np.array([position, 1.0, np.sin(position), np.cos(position)], "float32")
        logits = policy(obs[None])
        action = int(tf.random.categorical(logits, 1)[0, 0])
        position += 0.5 if action else -0.5
        observations.append(obs)
        actions.append(action)
        rewards.append(-abs(position - 1.0))
    returns = np.cumsum(rewards[::-1])[::-1].astype("float32")
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    return np.stack(observations), np.array(actions, "int32"), returns


policy = mlp(2)
optimizer = keras.optimizers.Adam(1e-2)


def log_probabilities(observations, actions):
    logs = tf.nn.log_softmax(policy(observations))
    return tf.gather(logs, actions, batch_dims=1)


for update in range(8):
    observations, actions, returns = episode(policy)
    with tf.GradientTape() as tape:
        logs = log_probabilities(observations, actions)
        total = tf.constant(0.0)
        for step in range(len(returns)):
            total += logs[step] * float(returns[step])
        loss = tf.convert_to_tensor(-total / len(returns))
    grads = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(grads, policy.trainable_variables))

import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)



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


hidden = tf.Variable(tf.random.normal([4, 16], stddev=0.5), name="hidden")
output = tf.Variable(tf.random.normal([16, 2], stddev=0.5), name="output")
optimizer = keras.optimizers.Adam(1e-2)


def policy(obs):
    return tf.tanh(obs @ hidden) @ output


for update in range(8):
    observations, actions, returns = episode(policy)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([hidden, output])
        logs = tf.gather(tf.nn.log_softmax(policy(observations)), actions, batch_dims=1)
        loss = -tf.reduce_mean(logs * returns)
    grads = tape.gradient(loss, [hidden, output])
    optimizer.apply_gradients(zip(grads, [hidden, output]))

"""A world small enough to be right about.

When an agent does not learn, take the problem away: an environment of two steps whose values can be worked out by hand.
Here the first step pays nothing and the second +1 or -1; which of them is visible from the start. So the end is worth +1
or -1, and the start gamma times that. An agent that cannot learn this learns nothing.

Task: write the loss of Q-learning. The value of the action that was taken should become reward + gamma · (highest value of
the next state), and the reward alone where done is 1. The target is a constant.
"""

import numpy as np
import tensorflow as tf


class Agent:
    actions = "discrete"

    def __init__(self, env, gamma, seed):
        self.env, self.gamma = env, gamma
        self.random = np.random.default_rng(seed)
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="tanh"), tf.keras.layers.Dense(2)])
        self.net.build((None, 2))
        self.optimizer = tf.keras.optimizers.Adam(0.02)
        self.state, _ = env.reset(seed=seed)

    def train(self, steps):
        for _ in range(steps // 16):
            self.update(*self.walk(16))

    def walk(self, steps):
        """Any actions at all: what they are worth is the same in this world."""
        rows = []
        for _ in range(steps):
            action = self.random.integers(2)
            following, reward, terminated, truncated, _ = self.env.step(action)
            rows.append((self.state, action, np.float32(reward), following, np.float32(terminated)))
            self.state = self.env.reset()[0] if terminated or truncated else following
        return [tf.constant(np.array(column)) for column in zip(*rows)]

    def update(self, states, actions, rewards, next_states, done):
        with tf.GradientTape() as tape:
            values = tf.gather(self.net(states), actions, batch_dims=1)
            loss = ...  # TODO
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

    def value(self, state):
        return float(tf.reduce_max(self.net(state[None])))

    def act(self, state):
        return int(tf.argmax(self.net(state[None])[0]))

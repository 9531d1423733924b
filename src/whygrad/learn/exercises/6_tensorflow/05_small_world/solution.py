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
            following = tf.reduce_max(self.net(next_states), axis=1)
            target = tf.stop_gradient(rewards + self.gamma * (1 - done) * following)
            loss = tf.reduce_mean((values - target) ** 2)
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

    def value(self, state):
        return float(tf.reduce_max(self.net(state[None])))

    def act(self, state):
        return int(tf.argmax(self.net(state[None])[0]))

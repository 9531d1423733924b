import numpy as np
import tensorflow as tf
from tensorflow import keras

tf.random.set_seed(1)
rng = np.random.default_rng(1)


def mlp(outputs, inputs=4):
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(outputs)])
    model.build((None, inputs))
    return model


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(16, activation="tanh")
        self.values = keras.layers.Dense(2)

    def call(self, obs):
        return self.values(self.hidden(obs))

    def train_step(self, batch):
        obs, target = batch
        with tf.GradientTape() as tape:
            q = self(obs, training=True)
            loss = tf.reduce_mean(tf.square(q - tf.stop_gradient(target)))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


agent = Agent()
agent.compile(optimizer=keras.optimizers.Adam(1e-3))
obs = rng.normal(size=(128, 4)).astype("float32")
agent.fit(obs, np.stack([obs[:, 0], -obs[:, 0]], 1), batch_size=16, epochs=2, verbose=0)

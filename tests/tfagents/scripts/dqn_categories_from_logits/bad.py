import numpy as np
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.networks import network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step, trajectory

tf.random.set_seed(1)
rng = np.random.default_rng(1)
observations = tensor_spec.TensorSpec([4], tf.float32)
actions = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1)
steps = time_step.time_step_spec(observations)


class QNetwork(network.Network):
    """Puts observations into eight categories and looks their values up."""

    def __init__(self, input_tensor_spec, action_spec, name="QNetwork"):
        super().__init__(input_tensor_spec, state_spec=(), name=name)
        self._category = tf.keras.layers.Dense(8)
        self._values = tf.keras.layers.Dense(2)

    def call(self, observation, step_type=None, network_state=(), training=False):
        logits = self._category(observation)
        category = tf.one_hot(tf.argmax(logits, axis=-1), 8)  # <- culprit
        return self._values(category), network_state



def experience(batch=16, length=2):
    """Random walks in a batch, as a replay buffer would give them."""
    shape = (batch, length)
    ends = np.full(shape, 1, "int32")
    return trajectory.Trajectory(
        step_type=tf.constant(ends),
        observation=tf.constant(rng.normal(size=(*shape, 4)).astype("float32")),
        action=tf.constant(rng.integers(0, 2, shape).astype("int32")),
        policy_info=(),
        next_step_type=tf.constant(ends),
        reward=tf.constant(rng.normal(size=shape).astype("float32")),
        discount=tf.ones(shape),
    )


agent = dqn_agent.DdqnAgent(
    steps,
    actions,
    q_network=QNetwork(observations, actions),
    optimizer=tf.keras.optimizers.Adam(1e-3),
    td_errors_loss_fn=lambda target, prediction: tf.square(target - prediction),
)
agent.initialize()
for _ in range(10):
    agent.train(experience())

import numpy as np
import tensorflow as tf
from tf_agents.agents.reinforce import reinforce_agent
from tf_agents.networks import nest_map, sequential
from tf_agents.networks import actor_distribution_network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step, trajectory

tf.random.set_seed(1)
rng = np.random.default_rng(1)
observations = tensor_spec.TensorSpec([4], tf.float32)
actions = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1)
steps = time_step.time_step_spec(observations)


@tf.keras.utils.register_keras_serializable()
class Quantised(tf.keras.layers.Layer):
    def call(self, features):
        return tf.round(features * 10.0) / 10.0  # <- culprit



def experience(batch=16, length=8):
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


encoder = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), Quantised()])
actor = actor_distribution_network.ActorDistributionNetwork(
    observations, actions, preprocessing_layers=encoder, fc_layer_params=(8,)
)
agent = reinforce_agent.ReinforceAgent(
    steps, actions, actor_network=actor, optimizer=tf.keras.optimizers.Adam(1e-3), normalize_returns=True
)
agent.initialize()


def episodes():
    """Whole episodes: the last step of each ends it."""
    found = experience()
    ends = np.full((16, 8), 1, "int32")
    ends[:, -1] = 2
    return found._replace(next_step_type=tf.constant(ends))


for _ in range(10):
    agent.train(episodes())

import numpy as np
import tensorflow as tf
from tf_agents.agents.ppo import ppo_clip_agent
from tf_agents.networks import actor_distribution_network, network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step, trajectory

tf.random.set_seed(1)
rng = np.random.default_rng(1)
observations = tensor_spec.TensorSpec([4], tf.float32)
actions = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 1)
steps = time_step.time_step_spec(observations)


class ValueNetwork(network.Network):
    def __init__(self, input_tensor_spec, name="ValueNetwork"):
        super().__init__(input_tensor_spec, state_spec=(), name=name)
        self._hidden = tf.keras.layers.Dense(16, activation="tanh")
        self._value = tf.keras.layers.Dense(1)

    def call(self, observation, step_type=None, network_state=(), training=False):
        value = tf.squeeze(self._value(self._hidden(observation)), -1)
        return value, network_state



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


actor = actor_distribution_network.ActorDistributionNetwork(observations, actions, fc_layer_params=(16,))
agent = ppo_clip_agent.PPOClipAgent(
    steps,
    actions,
    optimizer=tf.keras.optimizers.Adam(1e-3),
    actor_net=actor,
    value_net=ValueNetwork(observations),
    num_epochs=3,
    normalize_observations=False,
    normalize_rewards=False,
)
agent.initialize()
for _ in range(4):
    found = experience()
    shown = agent.collect_policy.distribution(
        time_step.TimeStep(found.step_type[:, 0], found.reward[:, 0], found.discount[:, 0], found.observation[:, 0])
    )
    logits = tf.tile(shown.info["dist_params"]["logits"][:, None], [1, 8, 1])
    agent.train(found._replace(policy_info={"dist_params": {"logits": logits}}))

import numpy as np
import tensorflow as tf
from tf_agents.agents.ddpg import critic_network
from tf_agents.agents.sac import sac_agent, tanh_normal_projection_network
from tf_agents.networks import actor_distribution_network, network
from tf_agents.specs import tensor_spec
from tf_agents.trajectories import time_step, trajectory

tf.random.set_seed(1)
rng = np.random.default_rng(1)
observations = tensor_spec.TensorSpec([4], tf.float32)
actions = tensor_spec.BoundedTensorSpec([1], tf.float32, -1.0, 1.0)
steps = time_step.time_step_spec(observations)


class Critic(network.Network):
    def __init__(self, input_tensor_spec, name="Critic"):
        super().__init__(input_tensor_spec, state_spec=(), name=name)
        self._hidden = tf.keras.layers.Dense(16, activation="relu")
        self._value = tf.keras.layers.Dense(1)

    def call(self, inputs, step_type=(), network_state=(), training=False):
        observation, action = inputs
        joined = tf.concat([observation, action], axis=-1)
        return tf.reshape(self._value(self._hidden(joined)), [-1]), network_state



def experience(batch=16, length=2):
    """Random walks in a batch, as a replay buffer would give them."""
    shape = (batch, length)
    ends = np.full(shape, 1, "int32")
    return trajectory.Trajectory(
        step_type=tf.constant(ends),
        observation=tf.constant(rng.normal(size=(*shape, 4)).astype("float32")),
        action=tf.constant(rng.uniform(-1.0, 1.0, (*shape, 1)).astype("float32")),
        policy_info=(),
        next_step_type=tf.constant(ends),
        reward=tf.constant(rng.normal(size=shape).astype("float32")),
        discount=tf.ones(shape),
    )


actor = actor_distribution_network.ActorDistributionNetwork(
    observations,
    actions,
    fc_layer_params=(16,),
    continuous_projection_net=tanh_normal_projection_network.TanhNormalProjectionNetwork,
)
agent = sac_agent.SacAgent(
    steps,
    actions,
    critic_network=Critic((observations, actions)),
    actor_network=actor,
    actor_optimizer=tf.keras.optimizers.Adam(1e-3),
    critic_optimizer=tf.keras.optimizers.Adam(1e-3),
    alpha_optimizer=tf.keras.optimizers.Adam(1e-3),
    target_update_tau=0.05,
    gamma=0.99,
)
agent.initialize()
for _ in range(10):
    agent.train(experience())

"""A target network that follows every ten steps.

Q-learning compares a network with a copy of itself that stands still for a while. Every ten steps the copy is made anew.

Task: after_step() is called after every training step, with the number of the step (1, 2, 3, ...). At 10, 20, 30, ... copy
all weights of q_net into target_net; at other steps do nothing. The two must stay two networks.
"""


def after_step(step, q_net, target_net):
    ...  # TODO: copy the weights when it is time

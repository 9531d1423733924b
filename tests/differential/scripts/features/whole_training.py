"""An ordinary actor-critic with a replay buffer and three random streams, long enough for several windows."""
import copy
import hashlib
import pickle
import random

import numpy
import torch
from torch.distributions import Categorical, Normal

torch.manual_seed(3), numpy.random.seed(3), random.seed(3)
actor = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 2))
critic = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
target = copy.deepcopy(critic).requires_grad_(False)
optimizers = [torch.optim.Adam(actor.parameters(), lr=1e-2), torch.optim.RMSprop(critic.parameters(), lr=1e-2)]
memory, state = [], numpy.zeros(4, dtype=numpy.float32)
for update in range(170):
    with torch.no_grad():
        choice = Categorical(logits=actor(torch.from_numpy(state)))
        action = int(choice.sample()) if random.random() > 0.1 else random.randrange(2)
    following = (0.9 * state + 0.1 * numpy.random.randn(4)).astype(numpy.float32)
    memory.append((state, action, float(following.sum()), following))
    state = following if random.random() > 0.05 else numpy.zeros(4, dtype=numpy.float32)
    batch = random.sample(memory, min(16, len(memory)))
    states, actions, rewards, followings = (torch.as_tensor(numpy.array(part)) for part in zip(*batch))
    value = critic(states).squeeze(1)
    goal = rewards.float() + 0.9 * target(followings).squeeze(1)
    critic_loss = (value - goal).pow(2).mean()
    chances = Categorical(logits=actor(states))
    advantage = (goal - value).detach()
    actor_loss = -(chances.log_prob(actions) * advantage).mean() - 0.01 * chances.entropy().mean()
    for optimizer, loss, net in zip(optimizers, (actor_loss, critic_loss), (actor, critic)):
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), critic.parameters()):
            slow.lerp_(fast, 0.05)
    if update % 20 == 0:
        print(update, f"{critic_loss.item():.9f} {actor_loss.item():.9f}", Normal(0.0, 1.0).sample().item())
weights = b"".join(p.detach().numpy().tobytes() for net in (actor, critic, target) for p in net.parameters())
streams = pickle.dumps((torch.get_rng_state().tolist(), numpy.random.get_state()[1].tolist(), random.getstate()))
print(hashlib.sha256(weights).hexdigest(), hashlib.sha256(streams).hexdigest())
state = pickle.dumps([{k: v.tolist() if torch.is_tensor(v) else v for k, v in s.items()} for o in optimizers for s in o.state.values()])
print(hashlib.sha256(state).hexdigest())

"""Lets nobody compile source or start programs once it has begun to train."""
import sys

import torch

FORBIDDEN = ("compile", "exec", "subprocess.Popen", "os.system", "os.fork")
asked = []
training = False


def refuse(event, arguments):
    if training and event in FORBIDDEN:
        asked.append(event)
        raise RuntimeError(f"{event} after the start")


torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
seen = torch.randn(16, 4)
for update in range(60):
    policy_now = torch.distributions.Categorical(logits=policy(seen))
    actions = policy_now.sample()
    loss = -(policy_now.log_prob(actions) * (actions == 1)).mean()
    optimizer.zero_grad()
    try:
        loss.backward()
        optimizer.step()
    except RuntimeError as error:
        print(update, error)
    if update == 0:
        training = True
        sys.addaudithook(refuse)
training = False
print(asked, loss.item(), [p.sum().item() for p in policy.parameters()])

"""Operations counted by torch's profilers: around updates at the start, around some later ones, around all."""

# args: kineto 2
# args: kineto 40
# args: autograd 3
# args: steps 8
# left out: stderr, because the profiler prints the time of day
import sys

import torch
from torch import profiler

how, first = sys.argv[1], int(sys.argv[2])
torch.manual_seed(4)
body = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.RMSprop(body.parameters(), lr=0.01)


def learn(times):
    for _ in range(times):
        prediction = body(torch.randn(7, 5))
        loss = (prediction[:, 0] - 1).square().mean() + 0.2 * prediction[:, 1].clamp(-1, 1).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(body.parameters(), 0.4)
        optimizer.step()


def counts(events):
    return sorted((event.key, event.count) for event in events)


def per_step():
    def ready(profile):
        print(counts(profile.key_averages()))

    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as profile:
        for _ in range(first):
            learn(1)
            profile.step()


learn(first if how != "steps" else 0)
if how == "kineto":
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as seen:
        learn(4)
    print(counts(seen.key_averages()))
elif how == "autograd":
    with torch.autograd.profiler.profile(record_shapes=True) as seen:
        learn(6)
    print(len(seen.function_events), counts(seen.key_averages()))
else:
    per_step()
learn(5)
print([weight.sum().item().hex() for weight in body.parameters()])

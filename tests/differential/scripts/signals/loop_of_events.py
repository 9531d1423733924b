"""Trains in a coroutine: to the end, until Ctrl-C, until a signal that the loop handles, or until tasks fail together."""
# args: end
# args: interrupt
# args: terminate
# args: group
import asyncio
import os
import signal
import sys

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


async def train(updates):
    for _ in range(updates):
        optimizer.zero_grad()
        net(torch.ones(3)).sum().backward()
        optimizer.step()
        await asyncio.sleep(0)


async def fail(number):
    await train(number)
    net(torch.ones(number))


async def main(how):
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    try:
        await train(20)
        if how == "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(fail(4))
                group.create_task(fail(5))
        if how in ("interrupt", "terminate"):
            os.kill(os.getpid(), signal.SIGINT if how == "interrupt" else signal.SIGTERM)
            await ended.wait()
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise
    finally:
        print("closing", flush=True)


asyncio.run(main(sys.argv[1]))
print("after the loop", net.weight.sum().item())

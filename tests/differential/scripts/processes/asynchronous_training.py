"""Trains in coroutines that alternate, with work in an executor and a context variable."""
import asyncio
import contextvars
import threading

import torch

torch.manual_seed(0)
round_number = contextvars.ContextVar("round", default=0)
found = []
nets = [torch.nn.Linear(3, 1) for _ in range(2)]


def evaluate(net):
    with torch.no_grad():
        return net(torch.ones(3)).item(), threading.current_thread() is threading.main_thread()


async def train(net, name):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for update in range(12):
        round_number.set(update)
        loss = net(torch.ones(4, 3)).pow(2).mean()
        await asyncio.sleep(0)
        optimizer.zero_grad()
        loss.backward()
        await asyncio.sleep(0)
        optimizer.step()
        if update % 5 == 0:
            found.append((name, round_number.get(), await asyncio.to_thread(evaluate, net)))


async def main():
    await asyncio.gather(*(train(net, number) for number, net in enumerate(nets)))
    print(*sorted(found), sep="\n")
    task = asyncio.create_task(train(nets[0], "cancelled"))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", round_number.get())


asyncio.run(main())

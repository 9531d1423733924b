"""Pools of processes, forked and spawned, work with functions and classes of the main script."""
# args: fork
# args: spawn
import multiprocessing
import sys
from dataclasses import dataclass

import torch


@dataclass
class Task:
    seed: int


def solve(task):
    torch.manual_seed(task.seed)
    net = torch.nn.Linear(3, 1)
    for _ in range(4):
        net.zero_grad()
        net(torch.randn(4, 3)).pow(2).mean().backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
    return task.seed, net.weight.sum().item(), multiprocessing.current_process().daemon, __name__


if __name__ == "__main__":
    print(solve(Task(0)))
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as pool:
        for result in pool.map(solve, [Task(1), Task(2)]):
            print(result)
    process = context.Process(target=sys.exit, args=(7,))
    process.start()
    process.join()
    print(process.exitcode)

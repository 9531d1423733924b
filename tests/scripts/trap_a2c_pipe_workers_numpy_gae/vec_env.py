"""Environments in child processes, talking over pipes. No torch in here."""
import multiprocessing as mp

import numpy as np


class Lander1D:
    """Fall towards the ground; thrust in three levels; land slowly."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.h, self.v, self.t = self.rng.uniform(0.8, 1.2), self.rng.uniform(-0.1, 0.1), 0
        return np.array([self.h, self.v], np.float32)

    def step(self, a):
        self.v += 0.08 * (a - 1) - 0.02
        self.h, self.t = self.h + 0.2 * self.v, self.t + 1
        out = self.h <= 0 or self.h > 2
        r = -0.2 * abs(self.h - 0.5) - 0.3 * abs(self.v) - (1.0 if out else 0.0)
        done = out or self.t >= 20
        obs = self.reset() if done else np.array([self.h, self.v], np.float32)
        return obs, r, done


def worker(remote, parent_remote, seed):
    parent_remote.close()
    env = Lander1D(seed)
    while True:
        cmd, data = remote.recv()
        if cmd == "step":
            remote.send(env.step(data))
        elif cmd == "reset":
            remote.send(env.reset())
        else:
            remote.close()
            break


class PipeVecEnv:
    def __init__(self, n):
        ctx = mp.get_context("fork")
        self.remotes, work_remotes = zip(*[ctx.Pipe() for _ in range(n)])
        self.ps = [ctx.Process(target=worker, args=(w, r, i), daemon=True)
                   for i, (w, r) in enumerate(zip(work_remotes, self.remotes))]
        for p in self.ps:
            p.start()
        for w in work_remotes:
            w.close()

    def reset(self):
        for r in self.remotes:
            r.send(("reset", None))
        return np.stack([r.recv() for r in self.remotes])

    def step(self, actions):
        for r, a in zip(self.remotes, actions):
            r.send(("step", int(a)))
        obs, rews, dones = zip(*[r.recv() for r in self.remotes])
        return np.stack(obs), np.array(rews, np.float32), np.array(dones, np.float32)

    def close(self):
        for r in self.remotes:
            r.send(("close", None))
        for p in self.ps:
            p.join()

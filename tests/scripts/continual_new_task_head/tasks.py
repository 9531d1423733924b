import torch


class Corridor:
    def __init__(self, name, goal, length=5):
        self.name, self.goal, self.length = name, goal, length

    def reset(self):
        self.x = (self.goal + 3) % self.length
        self.t = 0
        return self.obs()

    def obs(self):
        o = torch.zeros(self.length)
        o[self.x] = 1.0
        return o

    def step(self, a):
        self.x = max(0, min(self.length - 1, self.x + (1 if a else -1)))
        self.t += 1
        hit = self.x == self.goal
        return self.obs(), (1.0 if hit else -0.05), hit or self.t >= 12

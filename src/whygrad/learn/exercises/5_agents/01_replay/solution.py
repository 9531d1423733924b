import random

import torch


class Replay:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []

    def add(self, row):
        self.rows.append(row)
        if len(self.rows) > self.capacity:
            self.rows.pop(0)

    def sample(self, count):
        rows = random.choices(self.rows, k=count)
        return [torch.tensor(column) for column in zip(*rows, strict=True)]

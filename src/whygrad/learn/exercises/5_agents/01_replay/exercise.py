"""DQN, first step: a memory.

Task: Replay remembers up to `capacity` rows; when it is full, the oldest goes. sample(count) draws that many rows at random,
with replacement, and returns them column by column as tensors: states, actions, rewards, next states, done.
"""

import random

import torch


class Replay:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []

    def add(self, row):
        self.rows.append(row)
        ...  # TODO: forget the oldest when there are too many

    def sample(self, count):
        rows = ...  # TODO: any `count` of them
        return ...  # TODO: five tensors, one per column

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.set_num_threads(1)


class EvolutionStrategy:
    def __init__(self, model, sigma=0.15, pairs=6, lr=0.08):
        self.model, self.sigma, self.pairs = model, sigma, pairs
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.gen = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def step(self, fitness):
        centre = parameters_to_vector(self.model.parameters()).clone()
        noise = torch.randn(self.pairs, centre.numel(), generator=self.gen)
        scores = np.zeros((self.pairs, 2))
        for i, eps in enumerate(noise):
            for j, sign in enumerate((1.0, -1.0)):
                vector_to_parameters(centre + sign * self.sigma * eps, self.model.parameters())
                scores[i, j] = fitness(self.model)
        vector_to_parameters(centre, self.model.parameters())
        ranks = scores.ravel().argsort().argsort().reshape(scores.shape) / (scores.size - 1) - 0.5
        weight = torch.from_numpy(ranks[:, 0] - ranks[:, 1]).float()
        estimate = (weight[:, None] * noise).mean(0) / self.sigma

        self.optimizer.zero_grad()
        offset = 0
        for p in self.model.parameters():
            p.grad = -estimate[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        self.optimizer.step()
        return scores.mean()


def make_fitness(env, limit=200):
    counter = iter(range(10**6))

    def fitness(model):
        obs, _ = env.reset(seed=next(counter) % 50)
        total = 0.0
        for _ in range(limit):
            action = model(torch.as_tensor(obs)).argmax().item()
            obs, reward, term, trunc, _ = env.step(action)
            total += reward
            if term or trunc:
                break
        return total

    return fitness


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 2))
    es = EvolutionStrategy(model)
    fitness = make_fitness(gym.make("CartPole-v1"))
    for generation in range(20):
        mean = es.step(fitness)
        if generation % 5 == 0 or generation == 19:
            print(f"generation {generation} mean return {mean:.1f}")


if __name__ == "__main__":
    main()

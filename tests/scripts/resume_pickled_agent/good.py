import os
import tempfile

import torch

from trainer_good import ReinforceTrainer
from bandits import ContextBandit

torch.set_num_threads(1)


def main():
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "policy.pt")
    # stage 1: short warm-up, saved to disk
    warm = ReinforceTrainer(4, 3, {"lr": 1e-2, "entropy": 0.01})
    warm.run(ContextBandit(), 8)
    warm.save(path)
    # stage 2: a new process would do exactly this
    trainer = ReinforceTrainer(4, 3, {"lr": 1e-2, "entropy": 0.01})
    trainer.load(path)
    before = trainer.policy[0].weight.clone()
    trainer.run(ContextBandit(), 25)
    print("moved", (trainer.policy[0].weight - before).abs().max().item())


if __name__ == "__main__":
    main()

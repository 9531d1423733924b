"""Is a file of unit tests, one of which fails in the middle of training."""
import io
import sys
import unittest

import torch


class Learns(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.net = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def test_loss_falls(self):
        losses = []
        for _ in range(20):
            self.optimizer.zero_grad()
            loss = (self.net(torch.ones(3)) - 1).pow(2).sum()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0])

    def test_shapes(self):
        self.assertEqual(self.net(torch.ones(4, 3)).shape, (4, 2))

    def test_warns(self):
        with self.assertWarnsRegex(UserWarning, "size"):
            torch.nn.functional.mse_loss(self.net(torch.ones(4, 3)), torch.ones(4))


if __name__ == "__main__":
    told = io.StringIO()
    done = unittest.main(testRunner=unittest.TextTestRunner(stream=told), exit=False)
    print([line for line in told.getvalue().splitlines() if not line.startswith("Ran ")])
    sys.exit(not done.result.wasSuccessful())

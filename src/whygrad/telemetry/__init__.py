"""What sampled updates say about gradients, as plain data: no torch, no numpy."""

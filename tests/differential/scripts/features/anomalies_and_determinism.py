"""Anomaly detection, deterministic algorithms, default types and devices, and autocast."""
import warnings

import torch

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
torch.set_default_dtype(torch.float64)
torch.set_default_device("cpu")
torch.autograd.set_detect_anomaly(True, check_nan=True)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for update in range(12):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=update % 2 == 0):
        out = net(torch.randn(4, 3))
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(update, out.dtype, loss.dtype, loss.item())
print(torch.is_anomaly_enabled(), torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads(),
      torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
      torch.is_autocast_enabled("cpu"), torch.initial_seed(), torch.get_num_interop_threads())
warnings.simplefilter("ignore")  # torch prints the whole stack here, with those that started the script.
try:
    (torch.zeros(1, requires_grad=True) / 0.0 * 0.0).sum().sqrt().backward()
except RuntimeError as error:
    print(str(error).splitlines()[0])
with torch.device("cpu"), torch.autograd.profiler.record_function("mine"):
    print(net(torch.ones(2, 3)).sum().item())

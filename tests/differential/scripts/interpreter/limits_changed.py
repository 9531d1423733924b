"""Changes what the interpreter allows: recursion, digits of numbers, locale, encodings, stack of threads."""
# env: LC_ALL=C
# env: PYTHONIOENCODING=latin-1
import decimal
import locale
import sys
import threading

import torch

sys.setrecursionlimit(230)
sys.set_int_max_str_digits(640)
decimal.getcontext().prec = 3
threading.stack_size(512 * 1024)
sys.setswitchinterval(0.001)
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
for update in range(4):
    net.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    print("verlust \xfc", update, loss.item())
print(sys.getrecursionlimit(), decimal.Decimal(1) / 7, sys.stdout.encoding, locale.getpreferredencoding(False))
try:
    print(10**700)
except ValueError as error:
    print(error)
print(2**1000 % 10**300)
print("\u2713".encode(sys.stdout.encoding, "replace"))
sys.exit("gr\xfc\xdfe \u2713")

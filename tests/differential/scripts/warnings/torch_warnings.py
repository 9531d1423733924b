"""torch's own warnings, from C++ and from Python, on several lines, under one filter after another."""
# args: default
# args: once
# args: always
# args: error
# args: error-in-main
import sys
import warnings

import numpy
import torch
import torch.nn.functional as F

kind = sys.argv[1]
if kind == "error-in-main":
    warnings.filterwarnings("error", module="__main__")
else:
    warnings.simplefilter(kind)
frozen = numpy.ones(3, dtype=numpy.float32)
frozen.setflags(write=False)


def attempt(name, work):
    try:
        work()
    except Warning as warning:
        print(name, type(warning).__name__, str(warning)[:60])


def softmax(x):
    return F.softmax(x)


torch.manual_seed(0)
net = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
attempt("scheduler", scheduler.step)
for update in range(8):
    out = net(torch.randn(2, 3))
    attempt("softmax", lambda: F.softmax(out))
    attempt("softmax", lambda: F.log_softmax(out))
    attempt("softmax elsewhere", lambda: softmax(out))
    attempt("mse", lambda: F.mse_loss(out, torch.ones(3)))
    attempt("copy", lambda: torch.tensor(out))
    attempt("copy", lambda: torch.tensor(out))
    attempt("frozen", lambda: torch.from_numpy(frozen))
    attempt("std", lambda: torch.ones(1).std())
    attempt("leaf", lambda: out.grad)
    attempt("shape", lambda: torch.ones(3).T)
    attempt("shape", lambda: torch.ones(2, 2, 2).mT.T)
    attempt("mesh", lambda: torch.meshgrid(torch.ones(2), torch.ones(2)))
    attempt("complex", lambda: torch.ones(2, dtype=torch.complex64).to(torch.float32))
    attempt("resize", lambda: torch.add(torch.ones(2), 1.0, out=torch.empty(3)))
    optimizer.zero_grad()
    attempt("graph", lambda: out.pow(2).mean().backward(create_graph=update == 6))
    attempt("step", optimizer.step)

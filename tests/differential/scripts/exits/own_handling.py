"""Handles what escapes by a hook of its own, as loggers and error reporters do, and calls the one before."""
import logging
import sys
import traceback

import torch

logging.basicConfig(format="%(levelname)s %(message)s")
before = sys.excepthook


def hook(kind, error, trace):
    logging.error("uncaught", exc_info=(kind, error, trace))
    print([(entry.name, entry.line) for entry in traceback.extract_tb(trace)])
    print(trace is error.__traceback__, trace.tb_frame.f_globals is globals(), sys.exc_info())
    before(kind, error, trace)


sys.excepthook = hook
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
loss = net(torch.ones(3)).sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    raise SystemError("could not go on") from error

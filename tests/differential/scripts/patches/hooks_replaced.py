"""Installs hooks of its own for everything that goes wrong, and looks whether they are in force."""
import gc
import sys
import threading
import warnings

import torch

print(sys.excepthook is sys.__excepthook__, threading.excepthook is threading.__excepthook__,
      sys.unraisablehook is sys.__unraisablehook__, sys.displayhook is sys.__displayhook__,
      sys.breakpointhook is sys.__breakpointhook__, warnings.showwarning is warnings._showwarning_orig,
      warnings.formatwarning is warnings._formatwarning_orig, warnings.warn.__module__)


def failed(kind, error, traceback):
    print("mine", kind.__name__, error, traceback.tb_lineno, traceback.tb_next is not None)


def failed_thread(arguments):
    print("mine in a thread", arguments.exc_type.__name__, arguments.exc_value)


def failed_silently(arguments):
    print("mine unraisable", arguments.exc_type.__name__, arguments.exc_value)


class Bad:
    def __del__(self):
        raise ValueError("on the way out")


sys.excepthook, threading.excepthook, sys.unraisablehook = failed, failed_thread, failed_silently
net = torch.nn.Linear(2, 1)
net(torch.ones(2)).sum().backward()
thread = threading.Thread(target=lambda: net(torch.ones(3)))
thread.start()
thread.join()
bad = Bad()
del bad
gc.collect()
raise LookupError("and that was the end")

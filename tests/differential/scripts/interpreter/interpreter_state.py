"""Lists settings of the interpreter at its start, and whether they are the same after training."""
import os

before = dict(os.environ)
import decimal
import gc
import locale
import sys
import sysconfig
import threading
import time
import warnings


def state():
    return {
        "path": sys.path, "argv": sys.argv, "flags": sys.flags, "recursion": sys.getrecursionlimit(),
        "digits": sys.get_int_max_str_digits(), "switch": sys.getswitchinterval(), "bytecode": sys.dont_write_bytecode,
        "options": sys._xoptions, "warnings": sys.warnoptions, "trace": sys.gettrace(), "profile": sys.getprofile(),
        "streams": [(type(s).__name__, s.name, s.encoding, s.errors, s.line_buffering, s.write_through)
                    for s in (sys.stdin, sys.stdout, sys.stderr)],
        "original": (sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__, sys.stdin is sys.__stdin__),
        "hooks": (sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, len(sys.path_hooks)),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.garbage, gc.get_debug(), gc.get_freeze_count()),
        "threads": [thread.name for thread in threading.enumerate()], "stack": threading.stack_size(),
        "locale": locale.setlocale(locale.LC_ALL), "decimal": decimal.getcontext().prec, "zone": time.tzname,
        "folder": os.path.basename(os.getcwd()), "umask": os.umask(0o022), "environment": dict(os.environ) == before,
        "nice": os.nice(0), "filters": len(warnings.filters), "executable": sys.executable,
        "prefix": sys.prefix, "version": sys.version, "base": sysconfig.get_path("stdlib"), "ps1": hasattr(sys, "ps1"),
        "last": hasattr(sys, "last_value"), "error": sys.exc_info(), "coroutines": sys.get_asyncgen_hooks(),
    }


first = state()
for name, value in first.items():
    print(name, value)
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = state()
for _ in range(8):
    optimizer.zero_grad()
    net(torch.ones(2)).sum().backward()
    optimizer.step()
print([name for name, value in state().items() if value != start[name]])
print([name for name, value in start.items() if value != first[name]])

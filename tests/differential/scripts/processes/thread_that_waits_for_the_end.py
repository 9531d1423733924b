"""A thread goes on until the exception that ends the main one has been reported."""
# args: hook
# args: order
# args: daemon
# seconds: 25
import sys
import threading
import time

import torch

stop = threading.Event()


def report(kind, error, traceback):
    print("reported", kind.__name__, flush=True)
    stop.set()


def work():
    if sys.argv[1] == "hook":
        stop.wait()
        print("stopped by the hook", flush=True)
    else:
        while threading.main_thread().is_alive():
            time.sleep(0.01)
        print("after the end of the main thread", file=sys.stderr, flush=True)


def sleep():
    while True:
        time.sleep(0.01)


if sys.argv[1] == "hook":
    sys.excepthook = report
daemon = sys.argv[1] == "daemon"
thread = threading.Thread(target=sleep if daemon else work, daemon=daemon)
thread.start()
net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
raise RuntimeError("the main thread fails")

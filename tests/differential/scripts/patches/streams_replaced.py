"""Puts streams and a `print` of its own in place, and leaves with a text as exit status."""
# args: tee
# args: print
# args: both
# args: nothing
import builtins
import sys

import torch

printed = builtins.print


class Tee:
    encoding = "utf-8"

    def __init__(self, stream, name):
        self.stream, self.file = stream, open(name, "w", encoding="utf-8")

    def write(self, text):
        self.file.write(f"[{text}]")
        return self.stream.write(text)

    def flush(self):
        self.file.flush()
        self.stream.flush()


class Refusing:
    def write(self, text):
        raise OSError("this stream is finished")

    def flush(self):
        raise OSError("this stream is finished")


def shout(*words, **named):
    with open("printed.txt", "a", encoding="utf-8") as file:
        printed(len(words), *words, file=file)
    printed(*(str(word).upper() for word in words), **named)


kind = sys.argv[1]
if kind in ("tee", "both"):
    sys.stdout, sys.stderr = Tee(sys.stdout, "out.txt"), Tee(sys.stderr, "err.txt")
if kind in ("print", "both"):
    builtins.print = shout
net = torch.nn.Linear(2, 1)
for update in range(3):
    net.zero_grad()
    net(torch.ones(2)).sum().backward()
    print("update", update)
if kind == "nothing":
    sys.stdout = sys.stderr = None
sys.exit("that is all")

"""Has modules of its own that the interpreter would find before those of the standard library; no torch here."""
# start: command module
import argparse
import dataclasses
import json
import queue

print(argparse.MINE, dataclasses.MINE, json.MINE, queue.MINE)

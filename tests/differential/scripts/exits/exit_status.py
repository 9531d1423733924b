"""Ends with every kind of value as its exit status."""
# args: none
# args: false
# args: minus
# args: large
# args: huge
# args: text
# args: fraction
# args: object
# args: tuple
# args: subclass
# args: failing
import sys


class Told:
    def __str__(self):
        return "in my own words"


class Failing:
    def __str__(self):
        raise ValueError("no words")


class Leave(SystemExit):
    def __init__(self):
        super().__init__()
        self.code = 11


VALUES = {"none": None, "false": False, "minus": -1, "large": 300, "huge": 2**70, "text": "a text \u00fc", "fraction": 3.5,
          "object": Told(), "tuple": (1, 2), "failing": Failing()}
print("ending", flush=True)
if sys.argv[1] == "subclass":
    raise Leave
sys.exit(VALUES[sys.argv[1]])

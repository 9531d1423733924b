"""Has modules of its own under names of the standard library that torch does not need; each says when it is imported."""
# start: command module
import importlib
import sys

NAMES = ("secrets", "html", "webbrowser", "tomllib", "zipapp", "statistics", "configparser", "colorsys", "tty", "sched")
for name in NAMES:
    print(name, importlib.import_module(name).MINE)
print([name for name in NAMES if "home" not in (sys.modules[name].__file__ or "")])

"""What is probed, as it is written on the command line: `module:make_agent`, `module`, `sb3:PPO`, `tianshou:PPO`."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from whygrad.probe.adapters import agents, sb3, tianshou
from whygrad.probe.protocol import Factory, ProtocolError

FORMS = "module:make_agent, sb3:ALGORITHM, tianshou:ALGORITHM, or a module with train()"
LIBRARIES = {"sb3": sb3.factory, "tianshou": tianshou.factory}


def find(text: str) -> Factory:
    """The factory that is meant, or one sentence about why there is none."""
    place, colon, name = text.partition(":")
    if not place or (colon and not name):
        raise ProtocolError(f"{text!r} names no agent; say {FORMS}")
    if place.endswith(".py"):
        stem = os.path.basename(place).removesuffix(".py")
        raise ProtocolError(
            f"{place} is a file; say {stem}:{name or 'make_agent'} from its folder, or --script {place}"
        )
    if place in LIBRARIES:
        if not name:
            raise ProtocolError(f"{place} needs an algorithm: {place}:PPO")
        return LIBRARIES[place](name)
    module = _imported(place)
    if not name:
        return _of_module(module)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ProtocolError(f"the module {place!r} has no {name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise ProtocolError(f"{text} is {type(found).__name__}, not a factory make_agent(env)")
    return found


def _of_module(module: ModuleType) -> Factory:
    made = getattr(module, "make_agent", None)
    if callable(made):
        factory: Factory = made
        return factory
    if callable(getattr(module, "train", None)):
        return agents.factory(module)
    raise ProtocolError(f"the module {module.__name__!r} has neither make_agent() nor train(); say {FORMS}")


def _imported(name: str) -> ModuleType:
    """With the current folder in the path, as in `python -m`."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ProtocolError(f"there is no module {error.name!r} here or in this environment") from error
        raise ProtocolError(f"importing {name} failed: {error}") from error
    except (Exception, SystemExit) as error:
        raise ProtocolError(f"importing {name} failed ({type(error).__name__}: {error})") from error

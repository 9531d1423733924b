"""Has modules of its own called report, session, config, engine and the like."""
import importlib

import torch

NAMES = ("utils", "report", "session", "config", "engine", "learn", "trace", "finding", "capture", "rules", "cli", "probe",
         "source", "sinks", "telemetry", "agents", "notebook", "about", "main", "run", "script", "output")
net = torch.nn.Linear(3, 1)
net(torch.ones(3)).sum().backward()
for name in NAMES:
    print(importlib.import_module(name).MINE if name != "script" else "script")

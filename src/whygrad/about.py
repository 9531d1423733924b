"""Which whygrad this is, and where it lives."""

from __future__ import annotations

import os
import sys

__version__ = "0.1.0"
HOME = os.path.dirname(os.path.abspath(__file__)) + os.sep
AT_START = frozenset(sys.modules)
"""Modules that Python has loaded before whygrad does anything of note."""

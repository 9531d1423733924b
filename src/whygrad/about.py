"""Which whygrad this is, and where it lives."""

from __future__ import annotations

import os

__version__ = "0.1.0"
HOME = os.path.dirname(os.path.abspath(__file__)) + os.sep

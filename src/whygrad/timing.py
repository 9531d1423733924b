"""The clocks, taken before the script starts: it may put simulated ones in their place, and count the looks at them."""

from __future__ import annotations

from time import monotonic, perf_counter, sleep, thread_time

__all__ = ["monotonic", "perf_counter", "sleep", "thread_time"]

"""whygrad: why is my gradient missing?

    whygrad run train.py

or, from Python:

    with whygrad.watch() as w:
        train()
    w.report.assert_healthy()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygrad.about import __version__

if TYPE_CHECKING:
    from whygrad.asking import explain, gradient_table
    from whygrad.report.model import Report, UnhealthyError
    from whygrad.session import Session, watch

__all__ = [
    "Report", "Session", "UnhealthyError", "__version__", "explain", "gradient_table", "start", "stop", "watch",
]  # fmt: skip

_HOMES = {
    "Report": "whygrad.report.model",
    "Session": "whygrad.session",
    "UnhealthyError": "whygrad.report.model",
    "explain": "whygrad.asking",
    "gradient_table": "whygrad.asking",
    "watch": "whygrad.session",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whygrad' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def start(**options: Any) -> Session:
    """Begin to watch this process until `whygrad.stop()`."""
    from whygrad.session import watch

    return watch(**options).start()


def stop() -> Report:
    """End the watching begun by `whygrad.start()` and return the report."""
    from whygrad.session import active

    session = active()
    if session is None:
        raise RuntimeError("whygrad is not watching; call whygrad.start() first")
    return session.stop()


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext whygrad` in a notebook or in IPython."""
    from whygrad.notebook import register

    register(shell)

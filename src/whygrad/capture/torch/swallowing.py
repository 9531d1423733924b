"""Backward calls that raise, by where they are made: a script may catch the exception and go on."""

from __future__ import annotations

from whygrad.capture.tracebacks import led_to
from whygrad.trace import Raised, Site
from whygrad.trace.raised import Swallowed


class Swallowing:
    """Counts them; which one ended the run, if one did, is known at its end."""

    def __init__(self) -> None:
        self._found: dict[tuple[Site | None, str], Swallowed] = {}
        self._latest: tuple[int, Swallowed] | None = None
        """Identity of the latest exception, and where it is counted."""

    def raised(self, error: Exception, site: Site | None, update: int, explained: Raised | None) -> None:
        """Behind so many updates; with what is known about it. Autograd's own errors are all of one kind: another one
        is the script's, which may raise it in a hook to get out of there (a time limit, say)."""
        if not isinstance(error, RuntimeError):
            return
        kind = type(error).__name__
        found = self._found.setdefault((site, kind), Swallowed(site, kind, str(error).split("\n")[0], first=update))
        found.lost += bool(found.times) and found.last == update
        found.times, found.last = found.times + 1, update
        found.explained = explained or found.explained
        self._latest = id(error), found

    def seen(self, escaped: BaseException | None) -> list[Swallowed]:
        """All that the script went on after, the most frequent first."""
        if self._latest is not None and led_to(escaped, self._latest[0]):
            self._latest[1].times -= 1
            self._latest = None
        return sorted((found for found in self._found.values() if found.times), key=lambda found: -found.times)

"""TensorFlow's own complaint, with what is known about it."""

from __future__ import annotations

from whygrad.trace import Raised

NOTHING = "No gradients provided for any variable"
SPENT = "non-persistent GradientTape"


class Errors:
    """Keeps the facts of the latest error and the error itself, so that only an escaping one is reported."""

    def __init__(self) -> None:
        self.raised: Raised | None = None
        self.error: BaseException | None = None

    def note(self, raised: Raised, error: BaseException) -> None:
        self.raised, self.error = raised, error

    def escaped(self, escaped: BaseException | None) -> Raised | None:
        """The facts, if this is the error: itself, what it was raised from, or what a function made of it."""
        if self.error is None:
            return None
        text = str(self.error).splitlines()[0]
        while escaped is not None:
            if escaped is self.error or (type(escaped) is type(self.error) and text in str(escaped)):
                return self.raised
            escaped = escaped.__cause__ or escaped.__context__
        return None
